import { commands } from '../commands.ts'
import { describeBareKey } from '../formats/bare.ts'

/** Explains why a text has no PEM block, and how to fix it if the text is recognized. */
export function describeMissingPem(text: string): string {
  const hint = describeDocument(text) ?? hints.find(([pattern]) => pattern.test(text))?.[1]
  const advice = hint ?? describeBareKey(text)
  return `No PEM block was found. ${advice ?? `A public key begins with -----BEGIN PUBLIC KEY----- and ends with -----END PUBLIC KEY-----. To print it: ${commands.exportPublic}`}`
}

/** Names a document that may hold keys, and says what to do; undefined for any other text. */
export function describeDocument(text: string): string | undefined {
  return documents.find(([pattern]) => pattern.test(text))?.[1]
}

/** Whether a text is a declaration in YAML, whose keys have a state beside their PEM. */
export function isDeclaration(text: string): boolean {
  return declaration[0].test(text)
}

type Hint = readonly [pattern: RegExp, advice: string]

const declaration: Hint = [
  /^keys:\s*\n[ \t]*- +(?:label|file|publicKeyPem|algorithm|active|expireTime|publishedKid):/m,
  `This is a declaration of keys. Apply it: ${commands.applyKeys}`,
]

const documents: readonly Hint[] = [
  [
    /^kind:[ "']*Secret\b/m,
    "This is a Secret of Kubernetes in YAML. To print a text of it: kubectl get secret NAME -o jsonpath='{.data.KEY}' | base64 -d",
  ],
  [
    /^kind:[ "']*ConfigMap\b/m,
    "This is a ConfigMap of Kubernetes in YAML. To print a text of it: kubectl get configmap NAME -o jsonpath='{.data.KEY}'",
  ],
  declaration,
  [
    /^\s*[{[].*[}\]][ \t\r]*\n\s*\{/,
    `These are several JSON documents. Import them: ${commands.joinJsonLines}`,
  ],
]

const hints: readonly Hint[] = [
  [/%0[AaDd]|%2[BbFf0]|BEGIN(%20|\+)/, 'The text is URL-encoded: decode it.'],
  [/^LS0tLS1CRUdJTi/, `This is base64 of a whole PEM file. Decode it: ${commands.decodeBase64}`],
  [
    /^(?:Bearer )?ey[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*(\.|$)/,
    'This is a token: send the public key that verifies it.',
  ],
  [/^ey[ABIJ][\w+/-]+=*$/, `This is base64 of JSON. Decode it: ${commands.decodeBase64}`],
  [
    /^(?:[a-z]+: (?:\(\d+\)|\S+: )|unable to load|fatal:|(?:An )?error\b)/i,
    'This is the error message of a command: correct what it says.',
  ],
  [/^<(?:!doctype|html)/i, 'This is a web page: send the key in PEM.'],
  [/<RSAKeyValue>/, 'This is XML of .NET: export the key with ExportSubjectPublicKeyInfoPem().'],
  [
    /Public-Key: \(\d+ bit/,
    'This is a description by openssl: repeat the command without -text and -noout.',
  ],
  [
    /^Public Key Object;/m,
    'This is a description by pkcs11-tool: repeat the command with --read-object --type pubkey.',
  ],
  [
    /^(?:(?:undefined|null|none|nil|\[object \w+\]|\$\{?\w+\}?|\{\{.*\}\}|#?<[a-z][^<>]*>)$|Sun \w+ public key|&\{|(?=\w*Key)\w+ \{)/i,
    'This is an unset variable or an unconverted object: check the program that sends the key.',
  ],
  [
    /^[^\s-]{1,200}\.(?:pem|pub|key|crt|cer|der|jwks?|json|txt)$/i,
    'This is the name of a file: send its content.',
  ],
  [
    /^version https:\/\/git-lfs\./,
    'This is a pointer of Git LFS in place of a file. Fetch the file: git lfs pull',
  ],
  [/^did:/, 'This is a DID: send the public key of its document in PEM.'],
  [
    /^(?:untrusted comment: |RW[A-Za-z0-9+/]{54}$)/,
    `This is a key of minisign or signify, which signs files and no JWTs. Generate a key pair: ${commands.generateEd25519}`,
  ],
  [
    /^age1[a-z0-9]+$/,
    `This is a key of age, which encrypts and cannot sign. Generate a key pair: ${commands.generateEc}`,
  ],
  [
    /^(?:(?:\d+ )?SHA256:[A-Za-z0-9+/]{43}|urn:.*thumbprint|(?:MD5:|\w+ Fingerprint=)?[0-9a-f]{2}(?::[0-9a-f]{2}){15,63}$)/i,
    'This is the fingerprint of a key: send the key itself.',
  ],
  [
    /^pubring_[0-9A-Za-z]{49}$/,
    'This is an API key of Pubring, a secret. If others could read it, delete it and create another.',
  ],
  [
    /^(?:\w+\t)?arn:aws[\w-]*:kms:/,
    `This names a key of AWS KMS. Print it: ${commands.printKeyOfAws}`,
  ],
  [
    /^(?:projects\/.*\/cryptoKeys\/|https:\/\/[\w-]+\.vault\.azure\.)/,
    'This is the name of a key of a cloud: send its public key in PEM.',
  ],
  [/^https?:\/\//i, 'This is an address: fetch it and send the key in PEM.'],
  [/^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i, 'This is an id: send the key itself.'],
  [/^[[{]/, 'This looks like damaged JSON: send the key in PEM.'],
  [/^[\w "]+([;,\t])[^\n]*\n[^\n]*\1/, 'This is a table (CSV): send one key of it in PEM.'],
  [
    /-----\s?begin/i,
    'The BEGIN line is misspelled: use five dashes on each side and an upper-case label.',
  ],
  [/begin[ a-z0-9]{0,40}key/i, 'The BEGIN line needs exactly five dashes on each side.'],
  [/-----END /, 'The BEGIN line is missing: copy the whole key.'],
]
