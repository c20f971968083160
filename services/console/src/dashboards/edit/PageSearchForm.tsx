/** A search of the page in the form of the editor: its name, its text, and what is computed from it. */

import { Notice } from '../../app/Notice';
import type { XmlElement } from '../model/xml';
import styles from './Editing.module.css';
import { Back, Fields, type FormProps, Rest, searchName, TypedText } from './FormParts';
import { SearchForm } from './SearchForm';
import { SEARCH_FIELDS, searchOf, usersOf, withId } from './searchParts';

interface PageSearchFormProps extends FormProps {
  search: XmlElement;
}

const KNOWN = new Set(
  'query,searchstring,earliest,latest,earliesttime,latesttime,refresh,refreshtype'.split(','),
);

export function PageSearchForm(props: PageSearchFormProps) {
  const { app, source, search, onEdit, onSelect, onSource } = props;
  const users = usersOf(source, search).length;
  return (
    <>
      <Back onSelect={onSelect} />
      <h2>{searchName(search)}</h2>
      <TypedText
        label="Name"
        help="Panels and inputs that are computed from it use the change"
        value={search.attributes.get('id') ?? ''}
        onChange={(id) => onEdit((text) => withId(text, search.start, id))}
      />
      <SearchForm app={app} source={source} element={search} onEdit={onEdit} />
      <Fields fields={SEARCH_FIELDS} element={search} onEdit={onEdit} />
      {users === 0 ? (
        <Notice kind="info">
          Nothing is computed from it yet: choose it in a panel, as Computed from.
        </Notice>
      ) : (
        <p className={styles.hint}>
          {users === 1 ? 'One search is' : `${users} searches are`} computed from it. Without a
          command that makes a table, it passes on only the fields that it names.
        </p>
      )}
      <Rest element={search} isKnown={(child) => KNOWN.has(child.name)} onSource={onSource} />
    </>
  );
}

/** The name of an element's search, by which others are computed from it. */
export function SearchName({
  element,
  onEdit,
}: Pick<FormProps, 'onEdit'> & { element: XmlElement }) {
  const search = searchOf(element);
  if (search?.name !== 'search' || search.attributes.has('ref')) return null;
  return (
    <TypedText
      label="Name of its search"
      help="Other panels refer to its results with this name"
      value={search.attributes.get('id') ?? ''}
      onChange={(id) => onEdit((text) => withId(text, search.start, id))}
    />
  );
}
