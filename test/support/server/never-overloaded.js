/*
 * Preloaded by servers under test: on a busy machine their event loop lags, and they would reject
 * requests. They measure no lag.
 */
import { syncBuiltinESMExports } from 'node:module'
import performance from 'node:perf_hooks'

const { monitorEventLoopDelay } = performance
performance.monitorEventLoopDelay = (options) =>
  Object.defineProperty(monitorEventLoopDelay(options), 'mean', { value: 0 })
syncBuiltinESMExports()
