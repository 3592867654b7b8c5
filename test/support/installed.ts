import { cpSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Links what is installed in a checkout into a copy of it, whose own packages it names itself. */
export function linkInstalled(checkout: string, copy: string): void {
  const [from, to] = [join(checkout, 'node_modules'), join(copy, 'node_modules')]
  mkdirSync(to)
  for (const name of readdirSync(from).filter((each) => each !== '@pubring')) {
    symlinkSync(join(from, name), join(to, name))
  }
  cpSync(join(from, '@pubring'), join(to, '@pubring'), { recursive: true, verbatimSymlinks: true })
}
