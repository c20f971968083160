/**
 * Names of countries and states. Results name a country as `iplocation` and Splunk's `geo_countries` do, or
 * by its code; the outlines have names of their own, some of them short.
 */

/** Names of the outlines (Natural Earth, 1:110m) that are not those of `Intl`, by the code of the country. */
const SHORT: Record<string, string> = {
  'Bosnia and Herz.': 'BA',
  'Central African Rep.': 'CF',
  Congo: 'CG',
  "Côte d'Ivoire": 'CI',
  'Dem. Rep. Congo': 'CD',
  'Dominican Rep.': 'DO',
  'Eq. Guinea': 'GQ',
  eSwatini: 'SZ',
  'Falkland Is.': 'FK',
  'Fr. S. Antarctic Lands': 'TF',
  Macedonia: 'MK',
  Myanmar: 'MM',
  Palestine: 'PS',
  'S. Sudan': 'SS',
  'Solomon Is.': 'SB',
  'Trinidad and Tobago': 'TT',
  Turkey: 'TR',
  'United States of America': 'US',
  'W. Sahara': 'EH',
};

/** Further names that results have. */
const OTHERS: Record<string, string> = {
  'bosnia and herzegovina': 'BA',
  burma: 'MM',
  'congo, the democratic republic of the': 'CD',
  'cote d’ivoire': 'CI',
  "cote d'ivoire": 'CI',
  'czech republic': 'CZ',
  'democratic republic of the congo': 'CD',
  'great britain': 'GB',
  'iran, islamic republic of': 'IR',
  'ivory coast': 'CI',
  "korea, democratic people's republic of": 'KP',
  'korea, republic of': 'KR',
  "lao people's democratic republic": 'LA',
  'moldova, republic of': 'MD',
  'north macedonia': 'MK',
  'palestinian territory': 'PS',
  'republic of korea': 'KR',
  'republic of the congo': 'CG',
  'russian federation': 'RU',
  swaziland: 'SZ',
  'syrian arab republic': 'SY',
  'tanzania, united republic of': 'TZ',
  'the netherlands': 'NL',
  turkiye: 'TR',
  türkiye: 'TR',
  uk: 'GB',
  usa: 'US',
  'united states of america': 'US',
  'viet nam': 'VN',
};

const A = 'A'.charCodeAt(0);

/** English names of the browser by codes of two letters; several codes may have one name (DE, DD). */
function namesByCode(): Map<string, string> {
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  const found = new Map<string, string>();
  for (let first = 0; first < 26; first += 1) {
    for (let second = 0; second < 26; second += 1) {
      const code = String.fromCharCode(A + first, A + second);
      const name = names.of(code);
      if (name) found.set(code, name.toLowerCase());
    }
  }
  return found;
}

/** Finds the outline of a country by any of its names; null for what has none. */
export function countryFinder(outlines: readonly string[]): (name: string) => string | null {
  const names = new Map(outlines.map((outline) => [outline.toLowerCase(), outline]));
  const codes = new Map<string, string>();
  for (const [outline, code] of Object.entries(SHORT)) {
    if (names.has(outline.toLowerCase())) codes.set(code, outline);
  }
  for (const [code, name] of namesByCode()) {
    const outline = codes.get(code) ?? names.get(name);
    if (!outline) continue;
    codes.set(code, outline);
    names.set(name, outline);
  }
  for (const [name, code] of Object.entries(OTHERS)) {
    const outline = codes.get(code);
    if (outline) names.set(name, outline);
  }
  return (written) => {
    const name = written.trim();
    return names.get(name.toLowerCase()) ?? codes.get(name.toUpperCase()) ?? null;
  };
}

const STATES =
  'AL Alabama,AK Alaska,AZ Arizona,AR Arkansas,CA California,CO Colorado,CT Connecticut,DE Delaware,DC District of Columbia,FL Florida,GA Georgia,HI Hawaii,ID Idaho,IL Illinois,IN Indiana,IA Iowa,KS Kansas,KY Kentucky,LA Louisiana,ME Maine,MD Maryland,MA Massachusetts,MI Michigan,MN Minnesota,MS Mississippi,MO Missouri,MT Montana,NE Nebraska,NV Nevada,NH New Hampshire,NJ New Jersey,NM New Mexico,NY New York,NC North Carolina,ND North Dakota,OH Ohio,OK Oklahoma,OR Oregon,PA Pennsylvania,RI Rhode Island,SC South Carolina,SD South Dakota,TN Tennessee,TX Texas,UT Utah,VT Vermont,VA Virginia,WA Washington,WV West Virginia,WI Wisconsin,WY Wyoming,PR Puerto Rico';

/** Finds the outline of a state by its name or its two letters. */
export function stateFinder(outlines: readonly string[]): (name: string) => string | null {
  const known = new Map(outlines.map((outline) => [outline.toLowerCase(), outline]));
  for (const one of STATES.split(',')) {
    const outline = known.get(one.slice(3).toLowerCase());
    if (outline) known.set(one.slice(0, 2).toLowerCase(), outline);
  }
  return (name) => known.get(name.trim().toLowerCase()) ?? null;
}
