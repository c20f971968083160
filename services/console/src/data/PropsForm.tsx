/** Settings of props.conf that a preview tries, each with its place, its mistake, and a way back. */

import { Button, NativeSelect, TextInput } from '@mantine/core';
import { IconArrowBackUp, IconPlus } from '@tabler/icons-react';
import { useId, useState } from 'react';
import { knownZones } from '../time/zone';
import styles from './Preview.module.css';
import type { PropsSetting } from './preview';
import { shortPlace } from './preview';
import { choicesOf, furtherNames, GROUPS, MORE_NAMES, nameProblem } from './propsFields';

export type Tried = ReadonlyMap<string, string>;

interface PropsFormProps {
  /** Settings in force of the last preview. */
  settings: readonly PropsSetting[];
  tried: Tried;
  mistake: { name: string; problem: string } | null;
  onTried: (tried: Tried) => void;
}

export function PropsForm({ settings, tried, mistake, onTried }: PropsFormProps) {
  const { fields, added } = furtherNames(settings, tried);
  // Where the preview is below the settings, it has to be in sight.
  const [isNarrow] = useState(() => window.matchMedia('(max-width: 1000px)').matches);
  const change = (name: string, value: string | null) => {
    const next = new Map(tried);
    if (value === null) next.delete(name);
    else next.set(name, value);
    onTried(next);
  };
  const row = (name: string) => (
    <Setting
      key={name}
      name={name}
      setting={settings.find((one) => one.name === name) ?? null}
      tried={tried.get(name) ?? null}
      problem={mistake?.name === name ? mistake.problem : null}
      onChange={(value) => change(name, value)}
    />
  );
  return (
    <div className={styles.props} data-testid="props-form">
      {GROUPS.map((group) => (
        <details key={group.title} open={group.isOpen && !isNarrow}>
          <summary>{titleWith(group.title, group.names, tried)}</summary>
          {group.names.map(row)}
        </details>
      ))}
      <details open={fields.some((name) => tried.has(name))}>
        <summary>{titleWith('Fields of searches', fields, tried)}</summary>
        {fields.map(row)}
      </details>
      {added.map(row)}
      <AnotherSetting tried={tried} onAdd={(name) => change(name, '')} />
    </div>
  );
}

function titleWith(title: string, names: readonly string[], tried: Tried): string {
  const number = names.filter((name) => tried.has(name)).length;
  return number === 0 ? title : `${title} (${number} changed)`;
}

interface SettingProps {
  name: string;
  setting: PropsSetting | null;
  /** The value that is tried; null if the setting is as it is. */
  tried: string | null;
  problem: string | null;
  onChange: (value: string | null) => void;
}

function Setting({ name, setting, tried, problem, onChange }: SettingProps) {
  const zones = useId();
  const value = tried ?? setting?.value ?? '';
  const choices = choicesOf(name, value);
  const description = [setting?.about, placeText(setting, tried)].filter(Boolean).join(' ');
  const input = {
    size: 'xs',
    label: name,
    description,
    error: problem,
    value,
    name: `props.${name}`,
  } as const;
  return (
    <div className={styles.setting} data-tried={tried !== null || undefined}>
      {choices ? (
        <NativeSelect
          {...input}
          data={choices.map((choice) => ({ value: choice, label: choice || 'none' }))}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      ) : (
        <TextInput
          {...input}
          list={name === 'TZ' ? zones : undefined}
          placeholder={setting?.initial || 'not set'}
          autoComplete="off"
          spellCheck={false}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      )}
      {name === 'TZ' && (
        <datalist id={zones}>
          {knownZones().map((zone) => (
            <option key={zone} value={zone} />
          ))}
        </datalist>
      )}
      {tried !== null && (
        <Button
          size="compact-sm"
          variant="subtle"
          leftSection={<IconArrowBackUp size={13} />}
          aria-label={`Undo the change of ${name}`}
          onClick={() => onChange(null)}
        >
          Undo
        </Button>
      )}
    </div>
  );
}

function placeText(setting: PropsSetting | null, tried: string | null): string {
  if (tried !== null) return 'Changed here.';
  if (!setting?.place) return '';
  const stanza = setting.stanza === null ? '' : `[${setting.stanza}] `;
  return `From ${stanza}${shortPlace(setting.place)}.`;
}

function AnotherSetting({ tried, onAdd }: { tried: Tried; onAdd: (name: string) => void }) {
  const names = useId();
  const [name, setName] = useState('');
  const [problem, setProblem] = useState<string | null>(null);
  const add = () => {
    const found = nameProblem(name.trim(), tried);
    setProblem(found);
    if (found) return;
    onAdd(name.trim());
    setName('');
  };
  return (
    <div className={styles.another}>
      <TextInput
        size="xs"
        label="Another setting"
        placeholder="EXTRACT-user"
        list={names}
        autoComplete="off"
        spellCheck={false}
        value={name}
        error={problem}
        onChange={(event) => setName(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          event.preventDefault();
          add();
        }}
      />
      <datalist id={names}>
        {MORE_NAMES.map((one) => (
          <option key={one} value={one} />
        ))}
      </datalist>
      <Button
        size="xs"
        variant="default"
        leftSection={<IconPlus size={13} />}
        disabled={name.trim() === ''}
        onClick={add}
      >
        Add
      </Button>
    </div>
  );
}
