import { describe, expect, it } from 'vitest';
import { readDashboard } from '../model/reader';
import { childOf, childrenOf } from '../model/xml';
import {
  actionsOf,
  readLink,
  withAction,
  withCondition,
  withDrilldown,
  withHref,
  withNamed,
  withoutAction,
  withParameter,
  withView,
} from './drilldown';
import { elementAt, sourceOf } from './source';

const VIEW = `<dashboard>
  <row>
    <panel>
      <chart>
        <search><query>index=a | stats count by s</query></search>
        <option name="charting.drilldown">none</option>
      </chart>
      <table>
        <search><query>index=a</query></search>
        <drilldown target="_blank">
          <!-- of the team -->
          <condition field="s">
            <link><![CDATA[
              search?q=index%3Da s=$click.value$
              &earliest=$earliest$&latest=]]></link>
          </condition>
        </drilldown>
      </table>
    </panel>
  </row>
</dashboard>
`;
const CHART = VIEW.indexOf('<chart>');
const DRILLDOWN = VIEW.indexOf('<drilldown');
const LINK = VIEW.indexOf('<link>');
const drilldownOf = (text: string, at: number) =>
  readDashboard(text).rows[0]?.panels[0]?.elements[at]?.drilldown;

describe('links', () => {
  const dashboard = '/en-US/app/ops/web?form.host=$row.host$&form.span=a%20b&empty';
  it('are read by what they open', () => {
    expect(readLink(dashboard)).toEqual({
      kind: 'dashboard',
      app: 'ops',
      view: 'web',
      parameters: [
        ['form.host', '$row.host$'],
        ['form.span', 'a b'],
        ['empty', ''],
      ],
    });
    expect(readLink('search?q=a+b')).toMatchObject({ kind: 'search', parameters: [['q', 'a b']] });
    expect(readLink('other_view').kind).toBe('dashboard');
    for (const address of ['https://example.com/?a=1', '$row.url$', '//x/app/a/b', '']) {
      expect(readLink(address).kind).toBe('address');
    }
    expect(readLink('search?q=100%').parameters).toEqual([['q', '100%']]);
  });

  it('change where they are changed only', () => {
    expect(withParameter(dashboard, 1, ['form.span', 'c&d $x|u$ é'])).toBe(
      '/en-US/app/ops/web?form.host=$row.host$&form.span=c%26d%20$x|u$%20%C3%A9&empty',
    );
    expect(withParameter(dashboard, 0, ['form.host', '$row.host$'])).toBe(dashboard);
    expect(withParameter(dashboard, 0, null)).toBe('/en-US/app/ops/web?form.span=a%20b&empty');
    expect(withParameter(dashboard, 2, null)).toBe(
      '/en-US/app/ops/web?form.host=$row.host$&form.span=a%20b',
    );
    expect(withParameter('view', 0, ['a', '1'])).toBe('view?a=1');
    expect(withParameter('view?a=1', 0, null)).toBe('view');
    expect(withNamed('search?q=a', 'earliest', '-1h')).toBe('search?q=a&earliest=-1h');
    expect(withNamed('search?q=a&earliest=0', 'earliest', '')).toBe('search?q=a');
    expect(withView(dashboard, 'a b', 'other')).toBe(
      '/app/a%20b/other?form.host=$row.host$&form.span=a%20b&empty',
    );
  });

  it('keep their layout and CDATA', () => {
    const link = elementAt(sourceOf(VIEW), LINK);
    const href = VIEW.slice(VIEW.indexOf('CDATA[') + 6, VIEW.indexOf(']]>'));
    expect(readLink(href).parameters).toEqual([
      ['q', 'index=a s=$click.value$'],
      ['earliest', '$earliest$'],
      ['latest', ''],
    ]);
    const text = withHref(VIEW, link?.start ?? -1, withNamed(href, 'earliest', '-1h'));
    expect(text).toBe(VIEW.replace('earliest=$earliest$', 'earliest=-1h'));
  });
});

describe('a drilldown', () => {
  it('is added with an action, and the click is switched on', () => {
    const text = withDrilldown(VIEW, CHART, 'search', 'my app');
    expect(text).not.toContain('>none<');
    const [action] = drilldownOf(text, 0)?.always ?? [];
    expect(action).toMatchObject({ kind: 'link', target: '_blank' });
    expect(action?.kind === 'link' && readLink(action.href)).toMatchObject({
      kind: 'search',
      app: 'my app',
    });
  });

  it('has its actions in front of its conditions', () => {
    const text = withAction(VIEW, DRILLDOWN, 'set', 'a');
    expect(drilldownOf(text, 1)).toMatchObject({
      always: [{ kind: 'set', token: 'clicked', value: '$click.value$' }],
      conditions: [{ field: 's' }],
    });
    expect(text.replace(/ +<set.*\n/, '')).toBe(VIEW);
    const more = withCondition(text, DRILLDOWN, 'a"b');
    const drilldown = elementAt(sourceOf(more), DRILLDOWN);
    const last = drilldown && childrenOf(drilldown, 'condition').at(-1);
    expect(last?.attributes.get('field')).toBe('a"b');
    expect(last && actionsOf(last)).toHaveLength(1);
  });

  it('goes with its last action', () => {
    const text = withDrilldown(VIEW, CHART, 'set', 'a');
    const chart = elementAt(sourceOf(text), CHART);
    const drilldown = chart && childOf(chart, 'drilldown');
    const [action] = drilldown ? actionsOf(drilldown) : [];
    if (!drilldown || !action) throw new Error('there are both');
    const without = withoutAction(text, drilldown.start, action.start);
    expect(drilldownOf(without, 0)).toBeNull();
    const condition = VIEW.indexOf('<condition');
    expect(withoutAction(VIEW, DRILLDOWN, condition)).not.toContain('<drilldown');
  });
});
