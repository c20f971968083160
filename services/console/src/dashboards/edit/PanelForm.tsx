/** A panel and its elements in the form of the editor. */

import { NativeSelect } from '@mantine/core';
import { useState } from 'react';
import { drilldownNames } from '../model/drilldownOption';
import { readOptions } from '../model/readOptions';
import type { XmlElement } from '../model/xml';
import { DrilldownForm } from './DrilldownForm';
import { hasDrilldown } from './drilldown';
import styles from './Editing.module.css';
import { FormatsForm } from './FormatsForm';
import { Back, Fields, type FormProps, Rest } from './FormParts';
import { ELEMENT_SHOWN, ELEMENT_TITLE, FIELDS, KIND_NAMES, PANEL } from './fields';
import { formatsIn } from './formats';
import { HtmlForm } from './HtmlForm';
import { withKind } from './operations';
import { elementsOfPanel } from './outline';
import { SearchName } from './PageSearchForm';
import { SearchForm } from './SearchForm';

interface PanelFormProps extends FormProps {
  panel: XmlElement;
}

export function PanelForm({ app, source, panel, onEdit, onSelect, onSource }: PanelFormProps) {
  const [chosen, setChosen] = useState(0);
  const elements = elementsOfPanel(panel);
  const element = elements[Math.min(chosen, elements.length - 1)];
  const reference = panel.attributes.get('ref');
  const isPanel = panel.name === 'panel';
  return (
    <>
      <Back onSelect={onSelect} />
      <h2>Panel</h2>
      {reference && (
        <p className={styles.hint}>
          Shows the prebuilt panel <b>{reference}</b> of an app: it is changed there.
        </p>
      )}
      {elements.length > 1 && (
        <NativeSelect
          size="xs"
          label="Part"
          data={elements.map((one, at) => ({
            value: String(at),
            label: `${at + 1}: ${kindName(one.name)}`,
          }))}
          value={String(Math.min(chosen, elements.length - 1))}
          onChange={(event) => setChosen(Number(event.currentTarget.value))}
        />
      )}
      {element && (
        <ElementForm
          key={elements.indexOf(element)}
          app={app}
          source={source}
          element={element}
          isAlone={elements.length === 1}
          onEdit={onEdit}
          onSource={onSource}
        />
      )}
      {isPanel && (
        <>
          <h3>Its panel</h3>
          <Fields fields={PANEL} element={panel} onEdit={onEdit} />
        </>
      )}
    </>
  );
}

const kindName = (name: string): string =>
  KIND_NAMES.find(([kind]) => kind === name)?.[1] ?? 'Visualization of an app';

interface ElementFormProps extends Pick<FormProps, 'app' | 'source' | 'onEdit' | 'onSource'> {
  element: XmlElement;
  isAlone: boolean;
}

function ElementForm({ app, source, element, isAlone, onEdit, onSource }: ElementFormProps) {
  const { start, name } = element;
  const isHtml = name === 'html';
  const fields = FIELDS[name] ?? [];
  const isNamed = KIND_NAMES.some(([kind]) => kind === name);
  return (
    <>
      <NativeSelect
        size="xs"
        label="Shown as"
        data={[
          ...(isNamed ? [] : [{ value: name, label: element.attributes.get('type') || name }]),
          // Text has no search, and a search is no text.
          ...KIND_NAMES.filter(([kind]) => (kind === 'html') === isHtml).map(([value, label]) => ({
            value,
            label,
          })),
        ]}
        value={name}
        disabled={isHtml}
        data-testid="element-kind"
        onChange={(event) => {
          const kind = event.currentTarget.value;
          onEdit((text) => withKind(text, start, kind));
        }}
      />
      {isHtml ? (
        <HtmlForm source={source} element={element} onEdit={onEdit} />
      ) : (
        <>
          <Fields fields={[ELEMENT_TITLE]} element={element} onEdit={onEdit} />
          <SearchForm app={app} source={source} element={element} onEdit={onEdit} />
          <Fields fields={fields} element={element} onEdit={onEdit} />
          {name === 'table' && (
            <FormatsForm element={element} onEdit={onEdit} onSource={onSource} />
          )}
          {hasDrilldown(element) && <DrilldownForm app={app} element={element} onEdit={onEdit} />}
          <SearchName element={element} onEdit={onEdit} />
        </>
      )}
      {!isAlone && <Fields fields={ELEMENT_SHOWN} element={element} onEdit={onEdit} />}
      <Rest
        element={element}
        isKnown={(child) => isKnownChild(child, element)}
        fields={fields}
        known={hasDrilldown(element) ? drilldownNames(name, readOptions(element)) : []}
        onSource={onSource}
      />
    </>
  );
}

/** What the form changes; of formats, those that it knows. */
const isKnownChild = (child: XmlElement, element: XmlElement): boolean =>
  child.name === 'format'
    ? element.name === 'table' && formatsIn(element).includes(child)
    : child.name === 'drilldown'
      ? hasDrilldown(element)
      : ['title', 'search', 'option', 'fields'].includes(child.name);
