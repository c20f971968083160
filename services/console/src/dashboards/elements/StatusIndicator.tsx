/** A value in the colour of its state: what the visualization of that name shows, without its icons. */

import { useComputedColorScheme } from '@mantine/core';
import { grouped } from '../../app/format';
import type { CustomModel } from '../../visualization/custom/model';
import { colorOf, flag } from '../model/values';
import { legible, readableOn } from './cellFormat';
import styles from './SingleElement.module.css';
import { ValueBox } from './ValueBox';

interface StatusIndicatorProps {
  model: Extract<CustomModel, { kind: 'value' }>;
  options: ReadonlyMap<string, string>;
  height: number;
  onClick: ((row: number, newTab: boolean) => void) | undefined;
}

export function StatusIndicator({ model, options, height, onClick }: StatusIndicatorProps) {
  const surface = useComputedColorScheme('light') === 'dark' ? '#1b2024' : '#ffffff';
  const isStatic = options.get('colorby') === 'static_color';
  const found = isStatic ? options.get('staticcolor') : model.cells.get('color');
  const color = colorOf(found);
  const isFilled = options.get('filltarget') === 'background' && color !== null;
  const digits = Math.min(10, Math.max(0, Number(options.get('precision') ?? 0) || 0));
  const text =
    model.value === null
      ? model.text
      : flag(options.get('usethousandseparator'), true) && digits === 0
        ? grouped(model.value)
        : model.value.toFixed(digits);
  // A symbol of the app's own font has no picture here: its name is what it says.
  const icon = model.cells.get('icon') ?? '';
  const style = {
    minHeight: height,
    ...(isFilled ? { background: color, color: readableOn(color) } : {}),
  };
  return (
    <ValueBox
      style={style}
      testId="status"
      onClick={onClick && ((newTab: boolean) => onClick(0, newTab))}
    >
      <span
        className={styles.value}
        style={{ fontSize: 34, color: isFilled || !color ? undefined : legible(color, surface, 3) }}
      >
        {text}
      </span>
      {icon && icon !== text && <span className={styles.under}>{icon.replaceAll('-', ' ')}</span>}
    </ValueBox>
  );
}
