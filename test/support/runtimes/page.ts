import { jwtVerify } from 'jose'
import { projectKeySet } from '../../../packages/client/src/verify.ts'

/** Defined when the page is bundled. */
declare const issuer: string
declare const token: string

const keys = projectKeySet(issuer)
/** Verifies the token: its subject and the status of the key set, or the code of the error. */
async function outcome(): Promise<string> {
  try {
    const { payload } = await jwtVerify(token, keys)
    return `${payload.sub} ${keys.state().status}`
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error)
  }
}
Object.assign(globalThis, { outcome })
