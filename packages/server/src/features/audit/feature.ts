import { feature } from '../../kernel/feature.ts'

export const audit = feature({ name: 'audit' })
