export { describeDocument, isDeclaration } from './encoding/hints.ts'
export { describeKeyStore } from './encoding/text.ts'
export { examineCheaply, examineKey, identifyKey } from './examine.ts'
export { publicKeyInCertificate } from './formats/certificate.ts'
export { contentOf, indirectContent } from './formats/content.ts'
export { isJwk, jwkFault } from './formats/jwk.ts'
export { readSshKey, type SshKey } from './formats/ssh.ts'
export type {
  Accepted,
  ExposedKey,
  Fault,
  PublicJwk,
  PublicKey,
  Repair,
  Verdict,
} from './types.ts'
export { detectWrongKind } from './wrong-kind.ts'
