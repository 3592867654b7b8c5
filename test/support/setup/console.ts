import { execFileSync } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import process from 'node:process'

const sources =
  'console/{*.html,vite.config.ts,public/*,src/**/*.*},packages/{client,intake}/src/**/*.ts,packages/server/src/features/{access-rules/presets,events/types}.ts'
const modified = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** Builds the console if its sources are newer. */
export async function setup(): Promise<void> {
  const files = [...globSync(`{${sources}}`), 'package-lock.json']
  const newest = Math.max(...files.map(modified))
  if (modified('console/dist/index.html') > newest) return
  // Under the test runner's NODE_ENV React would be built for development.
  const env = { ...process.env, NODE_ENV: 'production' }
  execFileSync('npm', ['run', '--silent', 'build:console'], { env, stdio: 'inherit' })
}
