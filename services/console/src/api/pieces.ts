/** Answers that are read while they arrive. */

/** The text of an answer up to each separator, as soon as that has come; gives back what stands behind the last one. */
export async function* piecesOf(
  { body }: Response,
  separator: string,
  most = Number.POSITIVE_INFINITY,
): AsyncGenerator<string, string> {
  if (!body) return '';
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      const pieces = (rest + decoder.decode(value, { stream: !done })).split(separator);
      rest = pieces.pop() ?? '';
      if (rest.length > most)
        throw new Error(`a piece of an answer is longer than ${most} characters`);
      yield* pieces;
      if (done) return rest;
    }
  } finally {
    // Whoever stops reading closes the connection, and ends what the server does for it.
    reader.cancel().catch(() => {});
  }
}
