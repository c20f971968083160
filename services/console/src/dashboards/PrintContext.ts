/** Whether the page is about to be printed: all of it is drawn then, in light colours. */

import { createContext, useContext } from 'react';

export const PrintContext = createContext(false);

export const useIsPrinted = (): boolean => useContext(PrintContext);
