import { test } from 'vitest'
import { killKeepers } from '../../support/app/keepers.ts'

test('200 kills of the keeper and 20 of the server', async () => {
  await killKeepers({ keeper: 200, server: 20 })
})
