/**
 * What apps write as HTML and CSS, made harmless: an allow list of tags and attributes, no scripts, no addresses
 * but pages and images, and rules that apply below the dashboard only. App content is hostile until proven
 * otherwise.
 */

import DOMPurify from 'dompurify';
import { safeAddress } from './links';

const TAGS = [
  'a',
  'abbr',
  'address',
  'article',
  'aside',
  'b',
  'blockquote',
  'br',
  'button',
  'caption',
  'center',
  'cite',
  'code',
  'col',
  'colgroup',
  'dd',
  'del',
  'details',
  'dfn',
  'div',
  'dl',
  'dt',
  'em',
  'figcaption',
  'figure',
  'font',
  'footer',
  'h1',
  'h2',
  'h3',
  'h4',
  'h5',
  'h6',
  'header',
  'hr',
  'i',
  'img',
  'ins',
  'kbd',
  'label',
  'li',
  'main',
  'mark',
  'nav',
  'ol',
  'p',
  'pre',
  'q',
  's',
  'samp',
  'section',
  'small',
  'span',
  'strike',
  'strong',
  'style',
  'sub',
  'summary',
  'sup',
  'table',
  'tbody',
  'td',
  'tfoot',
  'th',
  'thead',
  'time',
  'tr',
  'tt',
  'u',
  'ul',
  'var',
  'wbr',
];
const ATTRIBUTES = [
  'align',
  'alt',
  'bgcolor',
  'border',
  'cellpadding',
  'cellspacing',
  'class',
  'color',
  'colspan',
  'data-set-token',
  'data-token-json',
  'data-unset-token',
  'data-value',
  'datetime',
  'dir',
  'height',
  'href',
  'id',
  'lang',
  'open',
  'rel',
  'role',
  'rowspan',
  'scope',
  'size',
  'src',
  'start',
  'style',
  'target',
  'title',
  'type',
  'valign',
  'value',
  'width',
];

export interface Cleaned {
  html: string;
  /** The texts of its `<style>`, not scoped yet. */
  styles: string[];
}

/** An image of the app, or one that is in the text. */
function safeImage(address: string): string | null {
  const trimmed = address.trim();
  if (/^data:image\/(?:png|gif|jpe?g|webp);base64,[a-z0-9+/=\s]+$/i.test(trimmed)) return trimmed;
  const local = trimmed.replace(/^\/[a-z]{2}[-_][A-Z]{2}(?=\/)/, '');
  return /^\/static\/app\/[^?#\\]+$/.test(local) && !local.includes('..') ? local : null;
}

/** Style attributes without addresses and without what covers the page. */
function safeStyle(style: string): string {
  return style
    .split(';')
    .filter(
      (rule) =>
        !/url\s*\(|expression\s*\(|@import|javascript:|-moz-binding|behavior\s*:|\\/i.test(rule),
    )
    .filter((rule) => !/position\s*:\s*(?:fixed|sticky)/i.test(rule))
    .join(';');
}

/** Makes HTML harmless. `app` is the one whose pages relative links lead to. */
export function cleanHtml(source: string, app: string): Cleaned {
  const fragment = DOMPurify.sanitize(source, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ATTRIBUTES,
    ALLOW_ARIA_ATTR: true,
    ALLOW_DATA_ATTR: false,
    FORCE_BODY: true,
    RETURN_DOM_FRAGMENT: true,
  });
  const styles: string[] = [];
  for (const style of fragment.querySelectorAll('style')) {
    styles.push(style.textContent ?? '');
    style.remove();
  }
  for (const element of fragment.querySelectorAll<HTMLElement>('*')) {
    const style = element.getAttribute('style');
    if (style !== null) element.setAttribute('style', safeStyle(style));
    const source = element.getAttribute('src');
    if (source !== null) {
      const image = safeImage(source);
      if (image === null) {
        element.removeAttribute('src');
        element.setAttribute('data-blocked', 'image');
      } else element.setAttribute('src', image);
    }
    if (element.tagName === 'IMG' && !element.hasAttribute('alt')) element.setAttribute('alt', '');
    if (element.tagName === 'BUTTON') element.setAttribute('type', 'button');
    const href = element.getAttribute('href');
    if (href !== null) {
      // Links that set tokens lead nowhere.
      const isAction =
        element.hasAttribute('data-set-token') ||
        element.hasAttribute('data-unset-token') ||
        element.hasAttribute('data-token-json');
      const address =
        isAction || href.startsWith('#') ? href.replace(/^(?!#).*$/, '#') : safeAddress(href, app);
      if (address === null) element.removeAttribute('href');
      else element.setAttribute('href', address);
      element.setAttribute('rel', 'noopener noreferrer');
    }
  }
  const holder = document.createElement('div');
  holder.append(fragment);
  return { html: holder.innerHTML, styles };
}

/** Bytes of a style sheet; what is longer is left out. */
const MOST_CSS = 500_000;

/**
 * Rules of a style sheet below a root: selectors of the page itself (`body`, `.dashboard-body`) mean the root.
 * Imports, fonts and addresses outside of the app are left out.
 */
export function scopedCss(source: string, root: string): string {
  if (source.length > MOST_CSS) return '';
  const sheet = new CSSStyleSheet();
  try {
    sheet.replaceSync(source);
  } catch {
    return '';
  }
  return rulesOf(sheet.cssRules, root);
}

function rulesOf(rules: CSSRuleList, root: string): string {
  let out = '';
  for (const rule of rules) {
    if (rule instanceof CSSStyleRule) {
      for (const selector of splitSelectors(rule.selectorText)) {
        const scoped = scopedSelector(selector, root);
        const style = safeDeclarations(rule.style, scoped === root);
        if (style !== '') out += `${scoped} { ${style} }\n`;
      }
    } else if (rule instanceof CSSMediaRule) {
      out += `@media ${rule.conditionText} {\n${rulesOf(rule.cssRules, root)}}\n`;
    } else if (rule instanceof CSSSupportsRule) {
      out += `@supports ${rule.conditionText} {\n${rulesOf(rule.cssRules, root)}}\n`;
    } else if (rule instanceof CSSKeyframesRule) {
      out += `${rule.cssText}\n`;
    }
  }
  return out;
}

/** What hides the whole dashboard when it is said of the page. */
const HIDING = new Set(['display', 'visibility', 'opacity', 'clip-path', 'transform']);

function safeDeclarations(style: CSSStyleDeclaration, isRoot: boolean): string {
  const kept: string[] = [];
  for (const name of style) {
    const value = style.getPropertyValue(name);
    if (/url\s*\(/i.test(value) && !onlyOwnImages(value)) continue;
    if (name === 'position' && /fixed|sticky/.test(value)) continue;
    if (isRoot && HIDING.has(name)) continue;
    const important = style.getPropertyPriority(name) === 'important' ? ' !important' : '';
    kept.push(`${name}: ${value}${important}`);
  }
  return kept.join('; ');
}

function onlyOwnImages(value: string): boolean {
  const addresses = [...value.matchAll(/url\s*\(\s*["']?([^"')]*)["']?\s*\)/gi)];
  return addresses.every((address) => safeImage(address[1] ?? '') !== null);
}

function scopedSelector(selector: string, root: string): string {
  const inner = selector
    .replace(/^\s*(?:html|body|:root)(?![\w-])(?:\s+body(?![\w-]))?/i, '')
    .replace(/^\s*\.dashboard-body(?![\w-])/, '')
    .trim();
  if (inner === '') return root;
  const isOfPage = /^\s*(?:html|body|:root|\.dashboard-body)[.:[#]/i.test(selector);
  return isOfPage && /^[.:[#]/.test(inner) ? `${root}${inner}` : `${root} ${inner}`;
}

/** At the commas that are in no parentheses. */
function splitSelectors(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '(' || char === '[') depth += 1;
    else if (char === ')' || char === ']') depth -= 1;
    else if (char === ',' && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
  }
  return [...parts, text.slice(from)];
}
