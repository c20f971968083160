/** The collection of reports, and under which name lists of them are kept: that by which forms read lists again. */
export const REPORTS_PATH = '/services/saved/searches';
export const REPORTS = ['objects', REPORTS_PATH] as const;
