const wanted =
  'No PEM block was found. A public key begins with -----BEGIN PUBLIC KEY----- and ends with -----END PUBLIC KEY-----.'

/** What a text without a PEM block seems to be, and what to do with it. */
export function describeUnarmoured(text: string): string {
  const advice = hints.find(({ shape }) => shape.test(text))?.advice
  return advice === undefined ? wanted : `${wanted} ${advice}`
}

const hints: readonly { shape: RegExp; advice: string }[] = [
  {
    shape: /%0[AaDd]|%2[BbFf0]|BEGIN(%20|\+)/,
    advice: 'The text is URL-encoded: decode it and send the key itself.',
  },
  {
    shape: /^LS0tLS1CRUdJTi/,
    advice:
      'This is base64 of a whole PEM file: decode it once (base64 -d) and send what it holds.',
  },
  {
    shape: /^https?:\/\//i,
    advice: 'This is an address: fetch it and send the key itself, as PEM.',
  },
  {
    shape: /^ey[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*(\.|$)/,
    advice: 'This is a token, signed by a key: send the public key that verifies it.',
  },
  { shape: /^[[{]/, advice: 'This looks like damaged JSON: send the key as PEM.' },
  {
    shape: /-----\s?begin/i,
    advice:
      'The BEGIN line is misspelt: it needs five dashes on each side and an upper-case label.',
  },
  {
    shape: /begin[ a-z0-9]{0,40}key/i,
    advice: 'The BEGIN line needs exactly five dashes on each side.',
  },
  { shape: /-----END /, advice: 'The BEGIN line is missing: copy the whole key.' },
  {
    shape: /^(0x)?([0-9a-f]{2}[\s:,]*){32,}$/i,
    advice:
      'This is hexadecimal: convert it: xxd -r -p key.hex | openssl pkey -pubin -inform DER -pubout',
  },
  {
    shape: /^M[A-P][A-Za-z0-9+/_\s-]{30,}=*$/,
    advice:
      'This is the base64 text alone: put -----BEGIN PUBLIC KEY----- before it and -----END PUBLIC KEY----- after it.',
  },
]
