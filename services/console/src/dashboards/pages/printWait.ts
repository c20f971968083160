/** Looks in a row that find everything ready: a search that ends may show further elements, and charts are resized. */
const LOOKS = 3;

/** Says at each look whether a dashboard may be printed. `blank`: drawings that are not there yet. */
export function printWait(): (searches: { done: number; all: number }, blank: number) => boolean {
  let ready = 0;
  return ({ done, all }, blank) => {
    ready = done === all && blank === 0 ? ready + 1 : 0;
    return ready >= LOOKS;
  };
}
