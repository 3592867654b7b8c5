import { execFileSync, spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'vitest'
import { temporaryFolder } from '../support/server/process.ts'

const { folder } = temporaryFolder()

/** By the alert: series with a value for each minute, and how many minutes later it fires. */
const cases: Record<string, [series: Record<string, string>, firesAt: number]> = {
  PubringFollowerDown: [{ 'up{job="pubring-follow"}': '1x9 0x9' }, 11],
  PubringFollowerSetBack: [
    { pubring_follow_ready: '1x9 0x9', pubring_follow_refused_total: '0x9 1x9' },
    11,
  ],
  PubringFollowerNameLost: [{ pubring_follow_name_lost: '0x9 1x9' }, 10],
  PubringFollowerNotReady: [{ pubring_follow_ready: '1x9 0x9' }, 11],
  PubringFollowerWithoutContact: [{ pubring_follow_age_seconds: '0x9 60+60x9' }, 13],
  PubringKeeperNotReady: [{ pubring_keep_ready: '1x9 0x9' }, 15],
  PubringKeeperDown: [{ 'up{job="pubring-keep"}': '1x9 0x9' }, 15],
  // It fails at 5 minutes, which is over, and from 20 minutes on.
  PubringKeeperFails: [{ pubring_keep_last_error_timestamp_seconds: '_x5 300x14 1200+60x20' }, 35],
  // The step was due at 10 minutes.
  PubringKeeperOverdue: [{ 'pubring_keep_next_step_timestamp_seconds{step="turn"}': '600x40' }, 31],
}

const hasPromtool = spawnSync('promtool', ['--version']).status === 0

test.runIf(hasPromtool)('the alerts for followers and keepers fire in time, and not before', () => {
  const firing = (alert: string, minutes: number, count: number) => ({
    expr: `count(ALERTS{alertstate="firing", alertname="${alert}"})`,
    eval_time: `${minutes}m`,
    exp_samples: count === 0 ? [] : [{ value: count, labels: '{}' }],
  })
  const file = {
    rule_files: ['follower', 'keeper'].map((name) =>
      resolve(`deploy/prometheus-${name}-rules.yaml`),
    ),
    tests: Object.entries(cases).map(([alert, [series, at]]) => ({
      interval: '1m',
      input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
      promql_expr_test: [firing(alert, at - 1, 0), firing(alert, at, 1)],
    })),
  }
  const path = join(folder, 'tests.json')
  writeFileSync(path, JSON.stringify(file))
  execFileSync('promtool', ['test', 'rules', path])
})
