/**
 * Asks before something is done that cannot be undone, or that reaches other machines: what it does, and for the
 * worst a text to type. While the request runs the button waits, and a refusal is shown with what helps.
 */

import { Button, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import objects from '../objects/Objects.module.css';
import { FormError } from './FormError';
import { Modal } from './Modal';
import { useSubmit } from './useSubmit';

interface ConfirmDialogProps {
  title: string;
  /** The button: a verb. */
  action: string;
  isDangerous?: boolean;
  /** Whether a refusal is shown with what usually helps. */
  isAdvised?: boolean;
  /** What has to be typed; nothing if it is left out. */
  typed?: string;
  testId: string;
  /** Closes the dialog when it succeeds. */
  onConfirm: () => Promise<unknown>;
  onClose: () => void;
  children: ReactNode;
}

export function ConfirmDialog({ title, action, typed, testId, ...props }: ConfirmDialogProps) {
  const { isDangerous = false, isAdvised = true, onConfirm, onClose, children } = props;
  const { busy, error, submit } = useSubmit();
  const [text, setText] = useState('');
  const isConfirmed = typed === undefined || text.trim() === typed;
  const confirm = async (event: FormEvent) => {
    event.preventDefault();
    if (isConfirmed && (await submit(onConfirm))) onClose();
  };
  return (
    <Modal opened onClose={onClose} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form className={objects.form} onSubmit={confirm} data-testid={testId}>
        <FormError error={error} isAdvised={isAdvised} />
        {children}
        {typed !== undefined && (
          <TextInput
            label={`Type ${typed} to confirm`}
            data-autofocus
            autoComplete="off"
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        )}
        <div className={objects.buttons}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button
            color={isDangerous ? 'red' : undefined}
            type="submit"
            loading={busy}
            disabled={!isConfirmed}
          >
            {action}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
