import { readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import { commandBlocks, pages, testOf } from '../support/docs.ts'

const root = join(import.meta.dirname, '../..')
const blocks = pages.flatMap(commandBlocks)

test('every block with commands is run by a test, except these', () => {
  const marked = blocks.filter(({ notRun }) => notRun !== undefined)
  const list = marked.map(
    ({ page, script, notRun }) => `${page}: ${script.split(/ \|\||\n/, 1)}: ${notRun}`,
  )
  expect(list).toMatchInlineSnapshot(`
    [
      "CONTRIBUTING.md: npm ci: the checks themselves",
      "CONTRIBUTING.md: npm version 1.1.0      # writes the number into all files that have it: test/package/release.long.test.ts releases a clone",
      "docs/access-rules.md: PUBRING_API_KEY=$(curl -sS --fail-with-body "$PUBRING_URL/v1/token" \\: needs the token of a platform; test/features/token-exchange exchanges one",
      "docs/following.md: export PUBRING_URL=https://keys.example.com: follows until it is stopped; test/agents/follow runs it",
      "docs/following.md: pubring jwks follow ID --out keys.json --accept-history 12.3f5a07c1: the server must have lost events; test/agents/follow/history.test.ts does it",
      "docs/installing.md: npm install --global ./pubring-*.tgz: installs on the whole machine; test/package/package.long.test.ts installs it in a folder",
      "docs/installing.md: git clone https://github.com/YOUR/pubring /opt/pubring: clones a repository; test/package/checkout.long.test.ts installs a copy of one",
      "docs/installing.md: cp "$(npm root --global)/pubring/deploy/pubring.service" /etc/systemd/system/: changes the system; systemd-analyze checks the unit in test/package/deploy.test.ts",
      "docs/installing.md: kubectl create secret generic pubring-database --from-literal=password=…: needs a cluster; test/package/kubernetes.long.test.ts renders and validates the chart",
      "docs/key-keep.md: export PUBRING_URL=https://keys.example.com PUBRING_API_KEY=pubring_…: keeps a key until it is stopped; test/agents/keep runs it",
      "docs/key-policy.md: node scripts/generate-blocklist.ts "RFC 9500" rfc9500.txt: needs the text of the RFC",
      "docs/key-policy.md: pip install badkeys && badkeys --update-bl && pubring serve --blocklist ~/.cache/badkeys/blocklist.dat: downloads a large list",
      "docs/key-uses.md: journalctl -u haproxy --since -1h -o cat | pubring key-uses report --as edge: needs the journal of a gateway",
      "docs/registration-links.md: pubring registration-link create --project payments --note "ACME Corp, orders API": test/cli/registration-links.test.ts runs it",
      "docs/rotating-keys.md: pubring key rotate new.pem --label 'orders, autumn' --token-lifetime 5m: waits until tokens have expired; test/e2e runs the same steps with curl",
      "docs/scaling.md: export PUBRING_DATABASE_URL='postgres://pubring@db-1.example.com,db-2.example.com/pubring?sslmode=verify-full': needs database servers of that name",
      "docs/scaling.md: pubring copy --from sqlite:./data/pubring.db --to postgres://pubring@db.example.com/pubring: needs a database server of that name; test/engines/copy.test.ts copies to a real one",
      "docs/scraping.md: mkdir otel && cd otel && npm init --yes: downloads packages; tried by hand as described below",
      "docs/sign-in.md: pubring login --url https://keys.example.com: waits for a person in a browser; test/console signs in",
      "docs/timers.md: cd "$(npm root --global)/pubring/deploy"     # of a checkout: /opt/pubring/deploy: changes the system; the tests run the commands of the units, and systemd-analyze checks them",
      "docs/workloads/github-actions.md: pubring access-rule create --github acme/orders --project payments --role registrar \\: asks api.github.com",
      "docs/workloads/kubernetes.md: kubectl get --raw /.well-known/openid-configuration: needs a cluster",
      "docs/workloads/kubernetes.md: kubectl create clusterrolebinding service-account-issuer-discovery \\: needs a cluster",
      "docs/workloads/kubernetes.md: kubectl get --raw /openid/v1/jwks > jwks.json: needs a cluster",
      "docs/workloads/kubernetes.md: kubectl create token orders --namespace payments --audience https://keys.example.com |: needs a cluster",
      "examples/verifiers/README.md: npx pubring jwks follow PROJECT --listen 127.0.0.1:8081 &: npm run examples runs it for each example",
    ]
  `)
})

test('the tests that run the blocks name their pages', () => {
  expect(blocks.length).toBeGreaterThan(80)
  for (const block of blocks) {
    const name = testOf(block)
    if (name === undefined || name.endsWith('commands.long.test.ts')) continue
    const stem = basename(block.page, '.md')
    expect(readFileSync(join(root, name), 'utf8'), name).toContain(stem)
  }
})

test('a reason stands before a block of commands', () => {
  for (const page of pages) {
    const reasons = readFileSync(join(root, page), 'utf8').match(/<!-- not run: /g) ?? []
    const marked = commandBlocks(page).filter(({ notRun }) => notRun !== undefined)
    expect(marked, page).toHaveLength(reasons.length)
  }
})

test('no other block has commands', () => {
  for (const page of pages) {
    const text = readFileSync(join(root, page), 'utf8')
    const others = [...text.matchAll(/^ *```(\w*)\n([\s\S]*?)^ *```$/gm)].filter(
      ([, language = '', body = '']) =>
        !['sh', 'bash', 'console'].includes(language) &&
        /^ *\$ /m.test(body) &&
        page !== 'docs/cli.md',
    )
    expect(
      others.map(([block]) => block),
      page,
    ).toEqual([])
  }
})
