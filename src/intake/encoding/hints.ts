import { commands } from '../commands.ts'

/** Explains why a text has no PEM block, and how to fix it if the encoding is recognized. */
export function describeMissingPem(text: string): string {
  const advice = hints.find(([pattern]) => pattern.test(text))?.[1]
  return `No PEM block was found. A public key begins with -----BEGIN PUBLIC KEY----- and ends with -----END PUBLIC KEY-----. ${advice ?? `To print it: ${commands.exportPublic}`}`
}

const hints: readonly [pattern: RegExp, advice: string][] = [
  [/%0[AaDd]|%2[BbFf0]|BEGIN(%20|\+)/, 'The text is URL-encoded: decode it.'],
  [/^LS0tLS1CRUdJTi/, 'This is base64 of a whole PEM file: decode it (base64 -d).'],
  [/^https?:\/\//i, 'This is an address: fetch it and send the key in PEM.'],
  [
    /^ey[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*(\.|$)/,
    'This is a token: send the public key that verifies it.',
  ],
  [/^[[{]/, 'This looks like damaged JSON: send the key in PEM.'],
  [
    /-----\s?begin/i,
    'The BEGIN line is misspelled: use five dashes on each side and an upper-case label.',
  ],
  [/begin[ a-z0-9]{0,40}key/i, 'The BEGIN line needs exactly five dashes on each side.'],
  [/-----END /, 'The BEGIN line is missing: copy the whole key.'],
  [
    /^(0x)?([0-9a-f]{2}[\s:,]*){32,}$/i,
    'This is hexadecimal. Convert it: xxd -r -p key.hex | openssl pkey -pubin -inform DER -pubout',
  ],
  [
    /^M[A-P][A-Za-z0-9+/_\s-]{30,}=*$/,
    'This is only the base64 text: put -----BEGIN PUBLIC KEY----- before it and -----END PUBLIC KEY----- after it.',
  ],
]
