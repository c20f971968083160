/** An HTML panel: harmless, with tokens, its styles scoped to the dashboard, its links that set tokens. */

import { useEffect, useMemo, useRef } from 'react';
import { useDashboard, useTokens } from '../DashboardContext';
import type { DashboardElement } from '../model/types';
import { isExternal } from '../runtime/links';
import { cleanHtml, scopedCss } from '../runtime/sanitize';
import { substitute } from '../runtime/tokens';
import styles from './ElementView.module.css';
import html from './HtmlElement.module.css';

interface HtmlElementProps {
  element: DashboardElement;
  /** A hidden panel may hold the styles of the page: they apply. */
  isShown: boolean;
}

export function HtmlElement({ element, isShown }: HtmlElementProps) {
  const { run, scope } = useDashboard();
  const tokens = useTokens();
  const box = useRef<HTMLDivElement>(null);
  // Values come from events: they are text in HTML, whatever they hold.
  const source = substitute(element.html, tokens.submitted, 'h').text;
  const cleaned = useMemo(() => cleanHtml(source, run.app), [source, run]);
  const css = useMemo(
    () => cleaned.styles.map((style) => scopedCss(style, scope)).join('\n'),
    [cleaned, scope],
  );

  useEffect(() => {
    const root = box.current;
    if (!root) return;
    const listen = (event: MouseEvent) => {
      const link = (event.target as Element | null)?.closest<HTMLElement>('a, button');
      if (!link || !root.contains(link)) return;
      const set = setTokens(link);
      const unset = link.getAttribute('data-unset-token');
      if (set !== null || unset !== null) {
        event.preventDefault();
        run.setTokens(set ?? {}, unset === null ? [] : unset.split(',').map((name) => name.trim()));
      } else if (link instanceof HTMLAnchorElement && isExternal(link.getAttribute('href') ?? '')) {
        link.target = '_blank';
      }
    };
    root.addEventListener('click', listen);
    return () => root.removeEventListener('click', listen);
  }, [run]);

  return (
    <>
      {css !== '' && <style>{css}</style>}
      {isShown && (
        <section
          id={element.id ?? undefined}
          className={`${styles.element} dashboard-element html`}
          data-testid="element"
          data-kind="html"
        >
          <div
            ref={box}
            className={`${html.content} panel-body html`}
            // biome-ignore lint/security/noDangerouslySetInnerHtml: cleaned by an allow list
            dangerouslySetInnerHTML={{ __html: cleaned.html }}
          />
        </section>
      )}
    </>
  );
}

function setTokens(link: HTMLElement): Record<string, string> | null {
  const name = link.getAttribute('data-set-token');
  const json = link.getAttribute('data-token-json');
  if (json !== null) {
    try {
      const parsed: unknown = JSON.parse(json);
      if (typeof parsed === 'object' && parsed !== null) {
        return Object.fromEntries(
          Object.entries(parsed).map(([key, value]) => [key, String(value)]),
        );
      }
    } catch {
      return {};
    }
  }
  return name === null ? null : { [name]: link.getAttribute('data-value') ?? 'true' };
}
