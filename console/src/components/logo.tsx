/** The same key as in favicon.svg. */
export const Logo = ({ size = 28 }: { size?: number }) => (
  <svg width={size} height={size} viewBox="0 0 32 32" aria-hidden="true">
    <rect width="32" height="32" rx="8" fill="#0b7285" />
    <g fill="none" stroke="#fff" strokeWidth="3" strokeLinecap="round">
      <circle cx="12" cy="13" r="5" />
      <path d="M15.7 16.7 24 25M20.5 21.5l2.5-2.5" />
    </g>
  </svg>
)
