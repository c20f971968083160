/** What a new dashboard begins with. */

import { escapeHtml } from '../runtime/tokens';

/** An id out of a title: `Web requests` gives `web_requests`. */
export const idOf = (title: string): string =>
  title
    .toLowerCase()
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 100);

const words = (title: string, description: string): string => {
  const about = description ? `\n  <description>${escapeHtml(description)}</description>` : '';
  return `<label>${escapeHtml(title)}</label>${about}`;
};

export const isId = (name: string): boolean => /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$/.test(name);

/** Without panels. */
export const bareDashboard = (title: string): string =>
  `<dashboard version="1.1">\n  ${words(title, '')}\n</dashboard>\n`;

/** With a time range and a chart, as an example. */
export function emptyDashboard(title: string, description: string): string {
  return `<form version="1.1">
  ${words(title, description)}
  <fieldset submitButton="false">
    <input type="time" token="span">
      <label>Time range</label>
      <default>
        <earliest>-24h@h</earliest>
        <latest>now</latest>
      </default>
    </input>
  </fieldset>
  <row>
    <panel>
      <chart>
        <title>Events over time</title>
        <search>
          <query>index=* | timechart count</query>
          <earliest>$span.earliest$</earliest>
          <latest>$span.latest$</latest>
        </search>
        <option name="charting.chart">column</option>
      </chart>
    </panel>
  </row>
</form>
`;
}
