/** Looks in a row that find everything ready: a search that ends may show further elements, and charts are resized. */
const LOOKS = 3;

/** Looks that wait for drawings when all searches have ended: one whose library does not come is not waited for. */
const MOST_BLANK = 40;

/** Says at each look whether a dashboard may be printed. `blank`: drawings that are not there yet. */
export function printWait(): (searches: { done: number; all: number }, blank: number) => boolean {
  let [ready, blanks] = [0, 0];
  return ({ done, all }, blank) => {
    blanks = done === all && blank > 0 ? blanks + 1 : 0;
    ready = done === all && blank === 0 ? ready + 1 : 0;
    return ready >= LOOKS || blanks >= MOST_BLANK;
  };
}
