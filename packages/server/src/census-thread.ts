/** The thread that counts the registry in SQLite, with all features. */
import { features } from './features.ts'
import { runCensus } from './kernel/storage/sqlite/census.ts'

await runCensus(features)
