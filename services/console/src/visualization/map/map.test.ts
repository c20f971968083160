import { describe, expect, it } from 'vitest';
import type { ResultRows } from '../../api/types';
import { binsOf, type ChoroplethLook, regionsOf } from './choropleth';
import { boundsOf, levelAt, markersAt, markersOf } from './markers';
import { outline, shapeOf, unroll } from './outlines';
import { countryFinder, stateFinder } from './regions';

const rows = (fields: string[], ...all: (string | null)[][]): ResultRows => ({
  fields,
  rows: all,
  preview: false,
  messages: [],
});

describe('markers', () => {
  const data = markersOf(
    rows(
      ['geobin', 'latitude', 'longitude', '200', '404'],
      ['bin_id_zl_0_y_1_x_1', '-47.4', '-94.9', '10', '5'],
      ['bin_id_zl_1_y_3_x_3', '-47.4', '-94.9', '10', '5'],
      ['bin_id_zl_1_y_4_x_4', '-39.3', '-78.7', '20', null],
      ['bin_id_zl_1_y_4_x_5', '99', '0', '20', null],
    ),
  );

  it('have the level and the bounds of their bin', () => {
    expect(data?.series).toEqual(['200', '404']);
    expect(data?.markers.map(({ level, total }) => [level, total])).toEqual([
      [0, 15],
      [1, 15],
      [1, 20],
    ]);
    expect(data?.maxLevel).toBe(1);
    expect(boundsOf('bin_id_zl_0_y_1_x_1')).toEqual({
      south: -67.5,
      west: -135,
      north: -45,
      east: -90,
    });
    expect(boundsOf('other')).toBeNull();
  });

  it('are those of one level, the largest first', () => {
    if (!data) throw new Error('no markers');
    expect(markersAt(data, 1, 1).map(({ row }) => row)).toEqual([2]);
    expect(levelAt(300, 9)).toBe(0);
    expect(levelAt(900, 9)).toBe(1);
    expect(levelAt(1e9, 9)).toBe(9);
    expect(levelAt(1e9, 0)).toBe(0);
  });

  it('come from any rows with coordinates, else there are none', () => {
    expect(markersOf(rows(['lat', 'lon'], ['1', '2']))?.markers[0]?.total).toBe(1);
    const renamed = rows(['geobin', 'y', 'x', 'n'], ['bin_id_zl_2_y_1_x_1', '1', '2', '3']);
    expect(markersOf(renamed)?.markers[0]).toMatchObject({ latitude: 1, longitude: 2, level: 2 });
    expect(markersOf(rows(['host', 'count'], ['a', '1']))).toBeNull();
  });
});

describe('outlines', () => {
  it('know countries by names, codes and the names of iplocation', async () => {
    const names = (await outline('world')).features.map((one) => one.properties.name);
    const find = countryFinder(names);
    const asked = {
      'United States': 'United States of America',
      US: 'United States of America',
      usa: 'United States of America',
      'Russian Federation': 'Russia',
      'Korea, Republic of': 'South Korea',
      'Czech Republic': 'Czechia',
      'Democratic Republic of the Congo': 'Dem. Rep. Congo',
      'Bosnia & Herzegovina': 'Bosnia and Herz.',
      'South Sudan': 'S. Sudan',
      'United Kingdom': 'United Kingdom',
      UK: 'United Kingdom',
      Germany: 'Germany',
      de: 'Germany',
      Türkiye: 'Turkey',
    };
    for (const [name, found] of Object.entries(asked))
      expect([name, find(name)]).toEqual([name, found]);
    expect(find('Atlantis')).toBeNull();
    // Each outline is found by its own name, and nearly all by a code.
    expect(names.every((name) => find(name) === name)).toBe(true);
  });

  it('are cut at the 180th meridian, so that no edge runs around the world', async () => {
    const world = await outline('world');
    const widest = (name: string) => {
      const { geometry } = world.features.find((one) => one.properties.name === name) ?? {};
      if (geometry?.type !== 'MultiPolygon') throw new Error(`no shape of ${name}`);
      const widths = geometry.coordinates.flat().map((ring) => {
        const steps = ring.slice(1).map(([x = 0], at) => Math.abs(x - (ring[at]?.[0] ?? 0)));
        return Math.max(...steps);
      });
      return Math.max(...widths);
    };
    for (const name of ['Russia', 'Fiji', 'Germany']) expect(widest(name)).toBeLessThan(60);
    for (const { geometry } of (await outline('us')).features) {
      if (geometry.type !== 'MultiPolygon') throw new Error('not a shape');
      expect(Math.max(...geometry.coordinates.flat(2).map(([x = 0]) => x))).toBeLessThanOrEqual(0);
    }
    const jump = [
      [170, 0],
      [-170, 0],
      [-170, 5],
      [170, 0],
    ];
    expect(unroll(jump).map(([x]) => x)).toEqual([170, 190, 190, 170]);
  });

  it('know states by names and letters', async () => {
    const names = (await outline('us')).features.map((one) => one.properties.name);
    const find = stateFinder(names);
    expect([find('california'), find('NY'), find('Bavaria')]).toEqual([
      'California',
      'New York',
      null,
    ]);
  });

  it('take shapes of results that are polygons of numbers', () => {
    const ring = [
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 0],
    ];
    expect(
      shapeOf('a', JSON.stringify({ type: 'Polygon', coordinates: [ring] }))?.properties.name,
    ).toBe('a');
    const whole = { type: 'Feature', geometry: { type: 'MultiPolygon', coordinates: [[ring]] } };
    expect(shapeOf('a', JSON.stringify(whole))?.geometry.type).toBe('MultiPolygon');
    for (const text of [
      '',
      'null',
      '{',
      '7',
      '{"type":"Point","coordinates":[1,2]}',
      '{"type":"Polygon","coordinates":[[["x",1]]]}',
      '{"type":"Polygon","coordinates":{}}',
    ]) {
      expect(shapeOf('a', text)).toBeNull();
    }
  });
});

describe('a choropleth', () => {
  const look: ChoroplethLook = {
    mode: 'auto',
    bins: 4,
    minimumColor: '#0000ff',
    maximumColor: '#ff0000',
    neutralPoint: 0,
    neutralColor: '#ffffff',
    categoryColors: ['#111111', '#222222'],
    fieldColors: new Map([['bad', '#999999']]),
  };
  const data = (...values: string[]) => {
    const found = regionsOf(
      rows(['state', 'n'], ...values.map((value, at) => [`s${at}`, value])),
      'state',
    );
    if (!found) throw new Error('no regions');
    return found;
  };
  const paint = (values: string[], more: Partial<ChoroplethLook> = {}) => {
    const regions = data(...values);
    const bins = binsOf(regions, { ...look, ...more });
    return regions.rows.map((row) => bins.find((bin) => bin.holds(row))?.color ?? null);
  };

  it('goes from neutral to the maximum, or both ways about the neutral point', () => {
    expect(paint(['1', '50', '100'])).toEqual(['#ffb3b3', '#ff7777', '#ff0000']);
    expect(paint(['-10', '10', ''])).toEqual(['#4040ff', '#ff4040', null]);
    expect(paint(['7', '7'])).toEqual(['#ff0000', '#ff0000']);
  });

  it('gives each text a colour', () => {
    expect(paint(['good', 'bad', 'good'])).toEqual(['#111111', '#999999', '#111111']);
    expect(paint(['1', '2'], { mode: 'categorical' })).toEqual(['#111111', '#222222']);
  });

  it('needs a column of names and one of values', () => {
    expect(regionsOf(rows(['n'], ['1']), null)).toBeNull();
    expect(regionsOf(rows(['state'], ['a']), null)).toBeNull();
    const shaped = regionsOf(rows(['featureId', 'count', 'geom'], ['a', '1', '{}']), null);
    expect(shaped?.rows[0]).toMatchObject({ name: 'a', value: 1, shape: '{}' });
  });
});
