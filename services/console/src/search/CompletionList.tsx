import type { Suggestion } from '../api/types';
import styles from './CompletionList.module.css';

interface CompletionListProps {
  id: string;
  suggestions: Suggestion[];
  activeIndex: number;
  onPick: (suggestion: Suggestion) => void;
}

export function CompletionList({ id, suggestions, activeIndex, onPick }: CompletionListProps) {
  return (
    <div className={styles.list} id={id} role="listbox" data-testid="completions">
      {suggestions.map((suggestion, index) => (
        // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the search input
        <div
          key={`${suggestion.label}\u0000${suggestion.detail}`}
          id={`${id}-${index}`}
          className={styles.item}
          role="option"
          tabIndex={-1}
          aria-selected={index === activeIndex}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => onPick(suggestion)}
        >
          <span>{suggestion.label}</span>
          <span className={styles.detail}>{suggestion.detail}</span>
        </div>
      ))}
      <div className={styles.hint}>Tab completes · arrows choose · Esc closes</div>
    </div>
  );
}
