import { execFileSync } from 'node:child_process'
import { globSync, statSync } from 'node:fs'
import process from 'node:process'

const sources =
  'console/{index.html,vite.config.ts,public/*,src/**/*.*},client/src/**/*.ts,src/intake/secrets/*.ts'
const changed = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0

/** The console as it is shipped is what the servers of the run serve: built anew where it is old. */
export async function setup(): Promise<void> {
  const files = [...globSync(`{${sources}}`), 'package-lock.json']
  const newest = Math.max(...files.map(changed))
  if (changed('console/dist/index.html') > newest) return
  // A test run is no production, and React would be built for development.
  const env = { ...process.env, NODE_ENV: 'production' }
  execFileSync('npm', ['run', '--silent', 'build:console'], { env, stdio: 'inherit' })
}
