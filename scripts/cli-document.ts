import { PassThrough, Writable } from 'node:stream'
import type { Command } from 'commander'
import { createProgram } from '../src/cli/program.ts'
import { exitCodes } from '../src/cli/terminal/exit-codes.ts'
import { clientSettings } from '../src/config/client-settings.ts'

/** `docs/cli.md`: what all commands have in common, and the help of each one as it prints it. */
export function cliDocument(): string {
  let written = ''
  const stdout = new Writable({
    write(chunk, _encoding, done) {
      written += chunk
      done()
    },
  })
  const program = createProgram({
    env: {},
    stdin: new PassThrough(),
    stdout,
    stderr: new PassThrough(),
    exitCode: 0,
    quiet: false,
    interruptSignal: () => new AbortController().signal,
  })
  const commands = leavesOf(program, program.name())
  const sections = commands.map(({ name, command }) => {
    written = ''
    command.outputHelp()
    return `### \`${name}\`\n\n\`\`\`text\n${written.trim()}\n\`\`\``
  })
  return `${[introduction(commands.map(({ name }) => name)), ...sections].join('\n\n')}\n`
}

interface Leaf {
  name: string
  command: Command
}

/** The commands that do something, by their full names. */
function leavesOf(parent: Command, path: string): Leaf[] {
  return parent
    .createHelp()
    .visibleCommands(parent)
    .flatMap((command) => {
      const name = `${path} ${command.name()}`
      return command.commands.length > 0 ? leavesOf(command, name) : [{ name, command }]
    })
}

function introduction(names: readonly string[]): string {
  return `# The command line

<!-- Made by \`npm run generate\` from src/cli; do not edit. -->

\`pubring\` runs the server, calls it, and works on its database.

\`\`\`console
$ export PUBRING_URL=https://keys.example.com
$ export PUBRING_API_KEY=pubring_…
$ pubring key add key.pem --project payments --name "orders service, spring 2026"
019f4a30-8c0f-7a44-9a51-3f8a9d0c6a55
$ pubring key list --project payments
019f4a30-8c0f-7a44-9a51-3f8a9d0c6a55	orders service, spring 2026	RSA	active	2026-05-01T12:00:00.000Z
\`\`\`

- [Which server, as whom](#which-server-as-whom) · [What it prints](#what-it-prints) ·
  [Exit codes](#exit-codes) · [Key files](#key-files) · [Completion](#completion) ·
  [Commands](#commands)

## Which server, as whom

| variable | option | default | what it is |
|---|---|---|---|
${variables()}

For each setting the first of these counts: the option; the profile that \`--profile\` names in this very
command; the variable; the profile of \`PUBRING_PROFILE\`, or else the current one; the default. The API key is
taken from \`--api-key-file\`, \`PUBRING_API_KEY\`, \`PUBRING_API_KEY_FILE\` or a profile, in that order, and never
from the command line, which others on the machine can read. White space, line ends and a byte order mark
around it do not count; what cannot be an API key is not sent.

**Profiles** are in \`$XDG_CONFIG_HOME/pubring/config.json\` (\`~/.config\` where that is not set). \`pubring login\`
writes them, and a person can:

\`\`\`json
{
  "currentProfile": "production",
  "profiles": {
    "production": { "url": "https://keys.example.com", "project": "payments", "apiKeyFile": "production.key" },
    "local": { "url": "http://127.0.0.1:8080", "apiKey": "pubring_…" }
  }
}
\`\`\`

\`apiKeyFile\` is relative to the file. A file that holds an \`apiKey\` and can be read by others than its owner is
refused. The API key of a profile is sent to the \`url\` of that profile and nowhere else, whatever
\`PUBRING_URL\` says.

**Networks.** The address may end in a slash, have a path before \`/v1\`, or be IPv6 (\`http://[::1]:8080\`).
\`HTTPS_PROXY\`, \`HTTP_PROXY\` and \`NO_PROXY\` are honoured (with Node 25.4 or later). An authority of your own is trusted with
\`NODE_EXTRA_CA_CERTS=authority.pem\`, those of the machine with \`NODE_USE_SYSTEM_CA=1\`. Redirects are not
followed: the API key goes to the address that was given.

## What it prints

Results are on the standard output, everything else (what was done, hints, questions, progress, errors) on the standard
error output.

- **On a terminal** lists are tables, cut to its width; times are relative. Colours are used there alone, and
  not with \`NO_COLOR\`.
- **In a pipe** a list is a line for each item: values with tabs between them, whole, without headings, in the
  order that the help of the command says. What was made is its id alone (or the secret of an API key).
- **With \`--json\`** every command that has it prints exactly one JSON document, in the shapes of the API
  (\`/docs\`), and says nothing else; deletions print \`{"deleted": ID}\`. \`pubring events --follow\` prints one document a line.

An error is one line, and lines that begin with \`hint:\`. With \`--json\` it is one JSON document, on the standard
error output too: \`code\` (the server's, one of the client's such as \`unreachable\`, or one that says what this command found, such as
\`private_key\`; else the exit code's name), \`detail\`, \`hints\`, \`exitCode\`,
and what the server said besides (\`status\`, \`requestId\`, \`errors\`). It never holds an API key, a token or
key material.

What is hard to take back is asked about on a terminal. Where nobody can be asked it is done, but not these,
which want \`--yes\` then: switching off the last active key of a project; revoking or deleting the API key that is used.

## Exit codes

| code | name | what it says |
|---|---|---|
${codes()}

A reader that closes the pipe (\`| head -1\`) ends a command quietly.

## Key files

\`key add\`, \`key rotate\` and the commands that import read a public key from PEM, DER, a certificate (the first of a chain), an SSH
public key or a JWK. The server takes PEM alone; the others are converted on this machine, and
that is said. **A private key never leaves the machine**: a file that holds one, in whatever form, is refused before
anything is sent (exit code 3, \`private_key\`), with the command that writes its public half. \`pubring token sample\`
is the one command that reads a private key; it signs with it on this machine.

## API keys, with and without a server

\`pubring api-key create --name NAME --role ROLE\` asks the server, and needs the API key of an admin. Whoever has
lost the last one makes another where the database is, whether the server runs or not: \`pubring api-key create
--admin\` writes to the database itself (\`PUBRING_DATABASE_URL\`), needs no API key, and makes an admin of all
projects.

## Completion

\`\`\`console
$ echo 'source <(pubring completion bash)' >> ~/.bashrc
$ echo 'source <(pubring completion zsh)' >> ~/.zshrc
$ pubring completion fish > ~/.config/fish/completions/pubring.fish
\`\`\`

## Commands

${names.map((name) => `[${name.replace('pubring ', '')}](#${name.replaceAll(' ', '-')})`).join(' · ')}`
}

function variables(): string {
  return Object.values(clientSettings)
    .map((setting) => {
      const flag = 'flag' in setting && setting.flag !== undefined ? `\`${setting.flag}\`` : ''
      const preset = setting.default === undefined ? '' : `\`${setting.default}\``
      return `| \`${setting.env}\` | ${flag} | ${preset} | ${setting.help} |`
    })
    .join('\n')
}

function codes(): string {
  return Object.entries(exitCodes)
    .map(([name, { code, meaning }]) => `| ${code} | \`${name}\` | ${meaning} |`)
    .join('\n')
}
