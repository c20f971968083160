interface LogoProps {
  size?: number;
}

/** Stalactites under a ledge. */
export function Logo({ size = 20 }: LogoProps) {
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      <path d="M2 4h20v3.500H2z" fill="var(--accent)" />
      <path
        d="M3.500 7.500h4l-2 7zM9.500 7.500h5L12 21zM16.500 7.500h4l-2 5z"
        fill="var(--accent)"
        opacity="0.7"
      />
    </svg>
  );
}
