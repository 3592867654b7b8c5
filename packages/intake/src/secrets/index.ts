export { decodeHex, decodeLatin1, encodeLatin1 } from './bytes.ts'
export { containsSecret, findSecret } from './detector.ts'
export { publicHalfCommand } from './public-half.ts'
export { isPrivateKeyAt } from './shapes.ts'
