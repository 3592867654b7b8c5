import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import type { KeyCheck } from '../../../../client/src/index.ts'
import { type Conversion, convert } from '../../keys/conversion.ts'
import { isSecretText } from '../../keys/secret-text.ts'
import { useSession } from '../../session/context.tsx'

/** What is known of the text of a key. */
export type KeyVerdict = {
  /** It holds a private key or another secret: nothing was sent. */
  secret: boolean
  pending: boolean
  check?: KeyCheck | undefined
  /** A form that is not taken as it is, converted. */
  conversion?: Conversion | undefined
  error?: unknown
}

/**
 * The verdict on a key while it is typed. Text that holds a secret is told apart here, at once and
 * before anything is sent; a certificate or JWK is converted here; all else the service judges.
 */
export function useVerdict(text: string): KeyVerdict {
  const { client } = useSession()
  const secret = useMemo(() => isSecretText(text), [text])
  const [settled] = useDebouncedValue(text.trim(), 300)
  const judged = settled === text.trim() ? settled : ''
  const query = useQuery({
    queryKey: ['verdict', secret ? '' : judged],
    queryFn: async ({ signal }) => {
      const conversion = await convert(judged)
      if (conversion !== undefined) return { conversion }
      return { check: await client.keys.check({ publicKeyPem: judged }, { signal }) }
    },
    enabled: !secret && judged !== '',
    gcTime: 0,
  })
  if (secret) return { secret, pending: false }
  if (text.trim() === '') return { secret, pending: false }
  return {
    secret,
    pending: judged === '' || query.isFetching,
    ...(query.data ?? {}),
    ...(query.isError ? { error: query.error } : {}),
  }
}
