import { commands } from '../commands.ts'

const notFound =
  'No PEM block was found. A public key begins with -----BEGIN PUBLIC KEY----- and ends with -----END PUBLIC KEY-----.'

/** Explains why a text has no PEM block, and how to fix it where the encoding is recognized. */
export function describeMissingPem(text: string): string {
  const advice = hints.find(({ pattern }) => pattern.test(text))?.advice
  return `${notFound} ${advice ?? `To print it: ${commands.exportPublic}`}`
}

const hints: readonly { pattern: RegExp; advice: string }[] = [
  {
    pattern: /%0[AaDd]|%2[BbFf0]|BEGIN(%20|\+)/,
    advice: 'The text is URL-encoded: decode it.',
  },
  {
    pattern: /^LS0tLS1CRUdJTi/,
    advice: 'This is base64 of a whole PEM file: decode it (base64 -d).',
  },
  {
    pattern: /^https?:\/\//i,
    advice: 'This is an address: fetch it and send the key in PEM.',
  },
  {
    pattern: /^ey[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*(\.|$)/,
    advice: 'This is a token: send the public key that verifies it.',
  },
  { pattern: /^[[{]/, advice: 'This looks like damaged JSON: send the key in PEM.' },
  {
    pattern: /-----\s?begin/i,
    advice: 'The BEGIN line is misspelled: use five dashes on each side and an upper-case label.',
  },
  {
    pattern: /begin[ a-z0-9]{0,40}key/i,
    advice: 'The BEGIN line needs exactly five dashes on each side.',
  },
  { pattern: /-----END /, advice: 'The BEGIN line is missing: copy the whole key.' },
  {
    pattern: /^(0x)?([0-9a-f]{2}[\s:,]*){32,}$/i,
    advice:
      'This is hexadecimal. Convert it: xxd -r -p key.hex | openssl pkey -pubin -inform DER -pubout',
  },
  {
    pattern: /^M[A-P][A-Za-z0-9+/_\s-]{30,}=*$/,
    advice:
      'This is only the base64 text: put -----BEGIN PUBLIC KEY----- before it and -----END PUBLIC KEY----- after it.',
  },
]
