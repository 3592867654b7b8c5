import {
  ActionIcon,
  AppShell,
  Burger,
  Container,
  Group,
  NavLink,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { IconMoon, IconStack2, IconSun } from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { AccountMenu } from './components/account-menu.tsx'
import { PageBoundary } from './components/boundary.tsx'
import { FocusMemory } from './components/dialog.tsx'
import { LiveStatus } from './components/live-status.tsx'
import { Logo } from './components/logo.tsx'
import { SearchButton } from './search/button.tsx'
import { useRights } from './session/rights.ts'
import { WarningBell } from './warnings/bell.tsx'

type NavigationPage = { path: string; label: string; Icon: typeof IconStack2; isForAll?: boolean }

/** The header and navigation around every page. */
export function Frame({ pages, children }: { pages: NavigationPage[]; children: ReactNode }) {
  const [opened, { toggle, close }] = useDisclosure(false)
  return (
    <FocusMemory>
      <AppShell
        header={{ height: 60 }}
        navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !opened } }}
        padding="md"
      >
        <AppShell.Header>
          <Header menuOpened={opened} onToggleMenu={toggle} />
        </AppShell.Header>
        <AppShell.Navbar p="sm" aria-label="Main">
          <Navigation pages={pages} onNavigate={close} />
        </AppShell.Navbar>
        <AppShell.Main>
          <Container size="lg" px={0} py="sm">
            <LiveStatus />
            <PageBoundary>{children}</PageBoundary>
          </Container>
        </AppShell.Main>
      </AppShell>
    </FocusMemory>
  )
}

function Header({ menuOpened, onToggleMenu }: { menuOpened: boolean; onToggleMenu(): void }) {
  return (
    <Group h="100%" px="md" justify="space-between" wrap="nowrap">
      <Group gap="sm" wrap="nowrap">
        <Burger
          opened={menuOpened}
          onClick={onToggleMenu}
          hiddenFrom="sm"
          size="sm"
          aria-label="Menu"
        />
        <Link href="/" className="quiet-link" aria-label="Pubring">
          <Group gap="xs" wrap="nowrap">
            <Logo />
            <Text fw={700} size="lg" visibleFrom="xs">
              Pubring
            </Text>
          </Group>
        </Link>
      </Group>
      <Group gap="xs" wrap="nowrap">
        <SearchButton />
        <WarningBell />
        <ColorSchemeButton />
        <AccountMenu />
      </Group>
    </Group>
  )
}

function Navigation(props: { pages: NavigationPage[]; onNavigate(): void }) {
  const { pages, onNavigate } = props
  const [location] = useLocation()
  const { mayAudit, onlyProject } = useRights()
  const label = onlyProject === undefined ? 'Projects' : 'Project'
  const projects = { path: '/', label, Icon: IconStack2, isForAll: true }
  const isCurrent = (href: string) =>
    href === '/' ? location === '/' || location.startsWith('/projects') : location === href
  return [projects, ...pages]
    .filter(({ isForAll = false }) => mayAudit || isForAll)
    .map(({ path, Icon, ...page }) => (
      <NavLink
        key={path}
        component={Link}
        href={path}
        label={page.label}
        leftSection={<Icon size={18} />}
        active={isCurrent(path)}
        aria-current={isCurrent(path) ? 'page' : undefined}
        onClick={onNavigate}
      />
    ))
}

function ColorSchemeButton() {
  const { setColorScheme } = useMantineColorScheme()
  const scheme = useComputedColorScheme('light')
  const other = scheme === 'dark' ? 'light' : 'dark'
  return (
    <ActionIcon
      variant="default"
      size="lg"
      onClick={() => setColorScheme(other)}
      aria-label={`Switch to ${other} mode`}
    >
      {scheme === 'dark' ? <IconSun size={18} /> : <IconMoon size={18} />}
    </ActionIcon>
  )
}
