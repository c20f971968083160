/** The dashboard in the form of the editor: its title, its searches, its inputs. */

import { ActionIcon, Button } from '@mantine/core';
import { IconArrowLeft, IconArrowRight, IconPlus } from '@tabler/icons-react';
import { childOf, childrenOf } from '../model/xml';
import styles from './Editing.module.css';
import {
  AddMenu,
  Fields,
  type FormProps,
  INPUT_NAMES,
  inputName,
  Remove,
  searchName,
} from './FormParts';
import { DASHBOARD, FIELDSET } from './fields';
import {
  INPUT_KINDS,
  type NewInputKind,
  withInput,
  withInputMoved,
  withoutElement,
} from './operations';
import { inputsOf } from './outline';
import { pageSearchesOf, withPageSearch } from './searchParts';

const NEW_INPUTS = Object.fromEntries(
  INPUT_KINDS.map((kind) => [kind, INPUT_NAMES[kind] ?? kind]),
) as Record<NewInputKind, string>;

export function DashboardForm({ source, onEdit, onSelect }: FormProps) {
  const inputs = inputsOf(source);
  const searches = pageSearchesOf(source);
  const fieldset = childOf(source.root, 'fieldset');
  return (
    <>
      <h2>Dashboard</h2>
      <p className={styles.hint}>Choose a panel to change it.</p>
      <Fields fields={DASHBOARD} element={source.root} onEdit={onEdit} />
      <h3>Inputs</h3>
      {inputs.length > 0 && (
        <ol className={styles.list}>
          {inputs.map((input, at) => (
            <li key={input.start}>
              <button
                type="button"
                className={styles.link}
                onClick={() => onSelect({ kind: 'input', at })}
              >
                {inputName(input)}
              </button>
              <ActionIcon
                size={24}
                aria-label={`Move ${inputName(input)} to the left`}
                disabled={at === 0}
                onClick={() => onEdit((text) => withInputMoved(text, input.start, -1))}
              >
                <IconArrowLeft size={14} />
              </ActionIcon>
              <ActionIcon
                size={24}
                aria-label={`Move ${inputName(input)} to the right`}
                disabled={at === inputs.length - 1}
                onClick={() => onEdit((text) => withInputMoved(text, input.start, 1))}
              >
                <IconArrowRight size={14} />
              </ActionIcon>
              <Remove
                label={`Remove ${inputName(input)}`}
                onRemove={() => onEdit((text) => withoutElement(text, input.start))}
              />
            </li>
          ))}
        </ol>
      )}
      <AddMenu
        label="Add an input"
        testId="add-input"
        choices={NEW_INPUTS}
        onAdd={(kind) => {
          onEdit((text) => withInput(text, kind));
          onSelect({ kind: 'input', at: inputs.length });
        }}
      />
      {fieldset && inputs.length > 0 && (
        <Fields fields={FIELDSET} element={fieldset} onEdit={onEdit} />
      )}
      <h3>Searches of the page</h3>
      <p className={styles.hint}>
        Each runs once; panels and inputs are computed from its results.
      </p>
      {searches.length > 0 && (
        <ol className={styles.list}>
          {searches.map((search, at) => (
            <li key={search.start}>
              <button
                type="button"
                className={styles.link}
                onClick={() => onSelect({ kind: 'search', at })}
              >
                {searchName(search)}
              </button>
              <Remove
                label={`Remove ${searchName(search)}`}
                onRemove={() => onEdit((text) => withoutElement(text, search.start))}
              />
            </li>
          ))}
        </ol>
      )}
      <div>
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconPlus size={14} />}
          data-testid="add-search"
          onClick={() => {
            onEdit(withPageSearch);
            // It stands behind the others of the page itself.
            onSelect({ kind: 'search', at: childrenOf(source.root, 'search').length });
          }}
        >
          Add a search
        </Button>
      </div>
    </>
  );
}
