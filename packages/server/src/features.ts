import { accessRules } from './features/access-rules/feature.ts'
import { apiKeys } from './features/api-keys/feature.ts'
import { audit } from './features/audit/feature.ts'
import { events } from './features/events/feature.ts'
import { health } from './features/health/feature.ts'
import { imports } from './features/imports/feature.ts'
import { keyHistory } from './features/key-history/feature.ts'
import { keyUses } from './features/key-uses/feature.ts'
import { keys } from './features/keys/feature.ts'
import { log } from './features/log/feature.ts'
import { projects } from './features/projects/feature.ts'
import { publishing } from './features/publishing/feature.ts'
import { registrationLinks } from './features/registration-links/feature.ts'
import { rotations } from './features/rotations/feature.ts'
import { search } from './features/search/feature.ts'
import { signIn } from './features/sign-in/feature.ts'
import { tokenChecks } from './features/token-checks/feature.ts'
import { tokenExchange } from './features/token-exchange/feature.ts'
import { warnings } from './features/warnings/feature.ts'
import type { Feature } from './kernel/feature.ts'
import { kernel } from './kernel/kernel-feature.ts'

/** The server is this list. Its order is that of the hooks. */
export const features: readonly Feature[] = [
  kernel,
  projects,
  keys,
  imports,
  keyUses,
  rotations,
  apiKeys,
  signIn,
  tokenChecks,
  registrationLinks,
  accessRules,
  tokenExchange,
  publishing,
  keyHistory,
  events,
  search,
  warnings,
  log,
  audit,
  health,
]
