/** The query of the page's address, which a dashboard writes itself. */

export function replaceQuery(query: URLSearchParams): void {
  const text = query.toString();
  window.history.replaceState(null, '', window.location.pathname + (text ? `?${text}` : ''));
}
