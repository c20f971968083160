/** The text of an HTML panel as it is written; what is no XML is not stored. */

import { Textarea } from '@mantine/core';
import { type XmlElement, XmlError } from '../model/xml';
import { elementAt, type Source, sourceOf, withInner } from './source';
import { useDraft } from './useDraft';

interface HtmlFormProps {
  source: Source;
  element: XmlElement;
  onEdit: (edit: (text: string) => string) => void;
}

function mistakeOf(html: string): string | null {
  try {
    sourceOf(`<html>${html}</html>`);
    return null;
  } catch (error) {
    if (error instanceof XmlError) return error.message;
    throw error;
  }
}

export function HtmlForm({ source, element, onEdit }: HtmlFormProps) {
  const inner = source.text.slice(element.innerStart, element.innerEnd);
  // Line ends and blanks around it are the layout of the file.
  const [begin, end] = [/^\s*/, /\s*$/].map((blanks) => blanks.exec(inner)?.[0] ?? '');
  const { draft, change, flush } = useDraft(inner.trim(), (html) => {
    if (mistakeOf(html) !== null) return;
    onEdit((text) => {
      const now = sourceOf(text);
      const found = elementAt(now, element.start);
      return found ? withInner(now, found, begin + html.trim() + end) : text;
    });
  });
  const mistake = mistakeOf(draft);
  return (
    <Textarea
      size="xs"
      label="Text, as HTML"
      error={mistake && `Not kept yet: ${mistake}`}
      autosize
      minRows={6}
      maxRows={18}
      spellCheck={false}
      styles={{ input: { fontFamily: 'var(--mono)' } }}
      value={draft}
      onChange={(event) => change(event.currentTarget.value)}
      onBlur={flush}
    />
  );
}
