/** An array whose items are made when they are read first; for everybody else an array as any other. */
export function lazyList<T>(count: number, make: (at: number) => T): T[] {
  const made: T[] = new Array(count);
  const indexOf = (name: string | symbol) => {
    const at = typeof name === 'string' ? Number(name) : -1;
    return Number.isInteger(at) && at >= 0 && at < count ? at : -1;
  };
  const item = (target: T[], at: number): T => {
    const known = target[at];
    if (known !== undefined) return known;
    const found = make(at);
    target[at] = found;
    return found;
  };
  return new Proxy(made, {
    get(target, name) {
      const at = indexOf(name);
      return at === -1 ? Reflect.get(target, name) : item(target, at);
    },
    has: (target, name) => indexOf(name) !== -1 || Reflect.has(target, name),
    ownKeys: (target) => [...Array.from(target, (_, at) => String(at)), 'length'],
    getOwnPropertyDescriptor(target, name) {
      const at = indexOf(name);
      if (at !== -1) item(target, at);
      return Reflect.getOwnPropertyDescriptor(target, name);
    },
  });
}
