import type { RequestContext } from '../../kernel/access/principal.ts'
import { hook } from '../../kernel/hooks.ts'
import type { KeyRecord } from '../keys/stored.ts'

/** A request checked a token, which is valid by this key of the project. */
export const tokenValid = hook<[context: RequestContext, key: KeyRecord], Promise<void>>()
