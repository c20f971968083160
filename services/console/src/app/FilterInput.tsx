/** The field that filters a list. */

import { TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';

interface FilterInputProps {
  label: string;
  placeholder?: string;
  value: string;
  onChange: (text: string) => void;
}

export function FilterInput({ label, placeholder = 'Filter', value, onChange }: FilterInputProps) {
  return (
    <TextInput
      size="xs"
      aria-label={label}
      placeholder={placeholder}
      leftSection={<IconSearch size={13} />}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
