/** The dashboard in the form of the editor: its title, its searches, its inputs. */

import { ActionIcon, Button, Menu } from '@mantine/core';
import { IconArrowLeft, IconArrowRight, IconPlus, IconTrash } from '@tabler/icons-react';
import { childOf } from '../model/xml';
import styles from './Editing.module.css';
import { Fields, type FormProps, INPUT_NAMES, inputName } from './FormParts';
import { DASHBOARD, FIELDSET } from './fields';
import { INPUT_KINDS, withInput, withInputMoved, withoutElement } from './operations';
import { inputsOf } from './outline';

export function DashboardForm({ source, onEdit, onSelect }: FormProps) {
  const inputs = inputsOf(source);
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
              <ActionIcon
                size={24}
                aria-label={`Remove ${inputName(input)}`}
                onClick={() => onEdit((text) => withoutElement(text, input.start))}
              >
                <IconTrash size={14} />
              </ActionIcon>
            </li>
          ))}
        </ol>
      )}
      <Menu position="bottom-start" withinPortal>
        <Menu.Target>
          <Button
            variant="default"
            size="compact-sm"
            leftSection={<IconPlus size={14} />}
            data-testid="add-input"
          >
            Add an input
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {INPUT_KINDS.map((kind) => (
            <Menu.Item
              key={kind}
              onClick={() => {
                onEdit((text) => withInput(text, kind));
                onSelect({ kind: 'input', at: inputs.length });
              }}
            >
              {INPUT_NAMES[kind]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {fieldset && inputs.length > 0 && (
        <Fields fields={FIELDSET} element={fieldset} onEdit={onEdit} />
      )}
    </>
  );
}
