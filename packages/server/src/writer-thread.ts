/** The thread that writes to SQLite, with all features. */
import { features } from './features.ts'
import { runWriter } from './kernel/storage/sqlite/writer.ts'

await runWriter(features)
