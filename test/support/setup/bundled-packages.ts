/**
 * Preloaded by the workers of a run, whose threads inherit it, and by the servers under test: they
 * load packages of many files from one file each, so that a thread starts in half the time.
 */
import { registerHooks } from 'node:module'
import { areCurrent, bundleOf } from './bundles.ts'

if (areCurrent()) {
  registerHooks({
    resolve(specifier, context, next) {
      const url = bundleOf.get(specifier)
      if (url === undefined) return next(specifier, context)
      return { url: url.href, format: 'module', shortCircuit: true }
    },
  })
}
