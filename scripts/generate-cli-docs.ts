import { writeFileSync } from 'node:fs'
import { cliDocument } from './cli-document.ts'

writeFileSync(new URL('../docs/cli.md', import.meta.url), cliDocument())
