import { features } from './features.ts'
import { storageOf } from './kernel/storage/open.ts'
import { siblingModule } from './runtime/threads.ts'

/** The storage with all features. */
export const { openStore, openServerStore, openExistingStore, openLedgerReader, copyRegistry } =
  storageOf(features, {
    writer: siblingModule(import.meta.url, 'writer-thread'),
    census: siblingModule(import.meta.url, 'census-thread'),
  })
