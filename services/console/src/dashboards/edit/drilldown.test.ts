import { describe, expect, it } from 'vitest';
import { readDashboard } from '../model/reader';
import { childOf, childrenOf } from '../model/xml';
import {
  actionsOf,
  clickSelection,
  hasDrilldown,
  onClickChoices,
  onClickOf,
  readLink,
  unknownIn,
  withAction,
  withClickSelection,
  withCondition,
  withDrilldown,
  withHref,
  withNamed,
  withOnClick,
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

describe('what a click does', () => {
  const TABLE = VIEW.indexOf('<table>');
  const element = (text: string, place: number) => {
    const found = elementAt(sourceOf(text), place);
    if (!found) throw new Error('there is an element');
    return found;
  };
  const of = (xml: string) => onClickOf(element(xml, 0));

  it('is read as it is drawn', () => {
    expect(of('<table/>')).toBe('auto');
    expect(of('<table><option name="drilldown">none</option></table>')).toBe('none');
    expect(of('<table><option name="drilldown">row</option></table>')).toBe('auto');
    expect(of('<chart/>')).toBe('auto');
    expect(of('<chart><option name="charting.drilldown">none</option></chart>')).toBe('none');
    expect(of('<single/>')).toBe('none');
    expect(of('<event/>')).toBe('auto');
    expect(of('<event><option name="list.drilldown">none</option></event>')).toBe('none');
    // A search has no condition for a place on a map.
    expect(of('<map><option name="drilldown">all</option></map>')).toBe('none');
    expect(of('<map><option name="mapping.type">choropleth</option></map>')).toBe('auto');
    const link = (href: string) => `<link>${href}</link>`;
    const table = (inner: string) => of(`<table><drilldown>${inner}</drilldown></table>`);
    expect(table(link('search?q=a'))).toBe('search');
    expect(table(link('https://example.com/'))).toBe('address');
    expect(table('<set token="a">1</set><unset token="b"/>')).toBe('tokens');
    expect(table(`${link('a')}<set token="a">1</set>`)).toBe('several');
    expect(table('<condition><set token="a">1</set></condition>')).toBe('several');
  });

  it('is offered as far as it is drawn', () => {
    expect(onClickChoices(element('<map/>', 0))).not.toContain('auto');
    expect(onClickChoices(element('<table/>', 0))).toContain('auto');
    expect(hasDrilldown(element('<event/>', 0))).toBe(true);
    expect(hasDrilldown(element('<event><option name="type">raw</option></event>', 0))).toBe(false);
    expect(hasDrilldown(element('<html/>', 0))).toBe(false);
  });

  it('changes, and is the option or the drilldown', () => {
    const tokens = withOnClick(VIEW, CHART, 'tokens', 'a');
    expect(tokens).toContain('<option name="charting.drilldown">all</option>');
    expect(onClickOf(element(tokens, CHART))).toBe('tokens');
    expect(withOnClick(tokens, CHART, 'none', 'a')).toBe(VIEW);
    const auto = withOnClick(VIEW, CHART, 'auto', 'a');
    expect(auto).toBe(VIEW.replace('>none<', '>all<'));
    const plain = '<dashboard><row><table><title>A</title></table></row></dashboard>';
    const place = plain.indexOf('<table');
    expect(withOnClick(plain, place, 'auto', 'a')).toBe(plain);
    const none = withOnClick(plain, place, 'none', 'a');
    expect(none).toContain('<option name="drilldown">none</option>');
    expect(withOnClick(none, place, 'auto', 'a')).toBe(none.replace('>none<', '>cell<'));
    const row = withClickSelection(withOnClick(plain, place, 'auto', 'a'), place, 'row');
    expect(clickSelection(element(row, place))).toBe('row');
    expect(withOnClick(row, place, 'auto', 'a')).toBe(row);
  });

  it('keeps the line ends of the file, and goes back without a trace', () => {
    const text = VIEW.replaceAll('\n', '\r\n');
    const place = text.indexOf('<chart>');
    for (const next of onClickChoices(element(text, place))) {
      const changed = withOnClick(text, place, next, 'a');
      expect(onClickOf(element(changed, place))).toBe(next);
      expect(changed.replaceAll('\r\n', '')).not.toContain('\n');
      expect(withOnClick(changed, place, 'none', 'a')).toBe(text);
      for (const other of onClickChoices(element(changed, place))) {
        const again = withOnClick(changed, place, other, 'a');
        expect(onClickOf(element(again, place))).toBe(other);
        expect(again.slice(again.indexOf('<table>'))).toBe(text.slice(text.indexOf('<table>')));
      }
    }
  });

  it('keeps comments, attributes and unknown parts of the drilldown', () => {
    const lone = VIEW.replace(/<condition field="s">/, '').replace(
      '</condition>',
      '<later a="1"/>',
    );
    expect(onClickOf(element(lone, TABLE))).toBe('search');
    const other = withOnClick(lone, TABLE, 'address', 'a');
    expect(onClickOf(element(other, TABLE))).toBe('address');
    const tokens = withOnClick(lone, TABLE, 'tokens', 'a');
    expect(onClickOf(element(tokens, TABLE))).toBe('tokens');
    for (const text of [other, tokens]) {
      expect(text).toContain('<drilldown target="_blank">');
      expect(text).toContain('<!-- of the team -->');
      expect(text).toContain('<later a="1"/>');
    }
    // Of a link, only the address is another one.
    expect(other.replace(/CDATA\[.*?\]\]/s, '')).toBe(lone.replace(/CDATA\[.*?\]\]/s, ''));
    // A table is clickable without the option.
    expect(tokens).not.toContain('<option name="drilldown">');
    expect(unknownIn(element(lone, lone.indexOf('<drilldown')))).toEqual(['<later>']);
    expect(unknownIn(element('<condition value="x" field="a"/>', 0))).toEqual(['value']);
    expect(unknownIn(element('<set token="a" prefix="x">1</set>', 0))).toEqual(['prefix']);
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
    // As it was before: no action, and no search for the events either.
    expect(without).toBe(VIEW);
    const condition = VIEW.indexOf('<condition');
    expect(withoutAction(VIEW, DRILLDOWN, condition)).not.toContain('<drilldown');
  });
});
