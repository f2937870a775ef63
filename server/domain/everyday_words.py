"""Words that say little about what a text is about, in English and Chinese. Owns two plain lists for each.

With a handful of open tasks their own counts can't tell a rare word from a common one: "please" in one task of two
would look as telling as "indemnity". So what is common everywhere is listed. Must never hold a word for the sake of one
text: names, trades and things stay out.
"""

from __future__ import annotations

from typing import Final

FUNCTION_WORDS: Final = frozenset(
    "a about above across after again against ago all almost along already also although always am among an"
    " and any anybody anyone anything are around as at away be became because become been before behind being"
    " below beside besides between beyond both but by can cannot could couldn did didn do does doesn doing"
    " don done down during each either else enough etc even ever every everybody everyone everything except"
    " far few for from further had hadn has hasn have haven having he hello her here hers herself hey hi him"
    " himself his how however if in indeed instead into is isn it its itself just least less let like ll many"
    " may maybe me might mine more most much must my myself near neither never next no nobody none nor not"
    " nothing now nowhere of off often ok okay on once one only onto or other others otherwise our ours"
    " ourselves out over own per perhaps please quite rather re really same shall she should shouldn since so"
    " some somebody someone something sometimes somewhere soon still such than thank thanks that the their"
    " theirs them themselves then there therefore these they this those though through thus till to together"
    " too toward towards under unless until up upon us ve very via was wasn we well were weren what whatever"
    " when whenever where whether which while who whom whose why will with within without won would wouldn"
    " yes yet you your yours yourself".split()
)
"""Left out of every comparison."""

COMMON_WORDS: Final = frozenset(
    "able accept according account act action active actual actually add address adult advice afternoon age"
    " agree agreement ahead aim allow alone amount animal answer appear apply april area argue arm arrive"
    " article ask asked attention august author available average avoid baby back background bad bag ball"
    " bank bar base based basic bed begin beginning behave believe belong best better big bill birthday bit"
    " black blood blue board body book born boss bottom box boy break breakfast brief bring brother brown"
    " build building business busy button buy call called came car card care career carry case catch cause"
    " center central centre certain certainly chair chance change chapter charge cheap check child children"
    " choice choose city class clean clear clearly click close coffee cold college color colour come comment"
    " common company compare complain complete computer concern condition consider contact contain content"
    " continue contract control copy correct cost count country couple course cover create current currently"
    " customer cut daily data date daughter day dead deal dear december decide decision deep deliver depend"
    " describe design detail develop device difference different difficult dinner direct discuss document"
    " door double draft draw dream drink drive drop dry due early easily easy eat edit effect effort eight"
    " either email empty end english enjoy enter entire error especially evening event eventually exactly"
    " example excellent exist expect expensive experience explain export extra eye face fact fail fair fall"
    " family fast father favor fear february feedback feel feet fifty figure file fill final finally find"
    " fine finger finish fire first fit five fix floor fly focus folder follow following food foot force"
    " forget forgot form forward found four free friday friend front full fun function future game gave"
    " general get girl give given glad go god going gone good got great green ground group grow guess guest"
    " guy half hand handle happen happy hard head health hear heard heart heavy held help helpful high hit"
    " hold holiday home hope hospital hot hotel hour house huge human hundred hungry husband idea image"
    " imagine important improve include including increase individual information inside interest internet"
    " interview issue item january job join july june keep kept key kid kind kitchen knew know known lady"
    " land language large last late later latest laugh law lead learn leave left leg length letter level"
    " library lie life light limit line link list listen little live local long longer look lose lost lot"
    " love low lunch machine mail main make man manage manager march mark market material matter maximum mean"
    " measure meet meeting member mention message method middle mind minimum minute miss missing mistake"
    " model modern moment monday money month morning mother mountain move movie moved music name national"
    " nature necessary need needed new news nice night nine normal note notice november number october offer"
    " office official old older online open opinion option orange order original page paid paint pair paper"
    " paragraph parent part particular partner party pass past pay payment pen people percent perfect person"
    " personal phone photo phrase pick picture piece place plan plane play point polite poor position"
    " possible post pound power practice prefer prepare present press pretty previous price print private"
    " probably problem process produce product program project proper properly protect prove provide public"
    " pull purpose push put quality quarter question quick quickly quiet quote rain raise ran reach read"
    " ready real reason receive recent red reduce regular relate release remain remember remind remove rent"
    " repeat reply report request require research rest result return review rich ride right rise risk road"
    " rock room round rule run safe said sale saturday save saw say saying school sea season seat second"
    " section see seem seen sell send sense sent sentence separate september serious serve service set seven"
    " several share shop short shot show shut side sign similar simple simply single sister sit situation six"
    " size skin sleep slow small smile social soft software son song sorry sort sound source speak special"
    " speech spend spring stage stand standard star start state station stay step stick stop store story"
    " straight street strong student study stuff style subject success suddenly suggest suit summarize"
    " summary summer sun sunday support suppose sure surface surprise sweet system table take taken talk tall"
    " task teach team tell ten term test text thing think third thirty thought thousand three thursday ticket"
    " time title today told tomorrow tonight took top topic total touch town trade train translate travel"
    " tree trip trouble true trust try tuesday turn twelve twenty twice two type understand unit update"
    " upload use used useful user usual usually value various version view visit voice wait walk wall want"
    " war warm wash watch water way wear weather website wednesday week weekend weight welcome white whole"
    " wife wind window winter wish woman wonder wood word work worker world worry worse worst worth write"
    " writing written wrong wrote year yellow yesterday young zero".split()
)
"""In texts about anything: they count, but little."""

FUNCTION_CHARACTERS: Final = frozenset(
    "的了是在我你您他她它们这那个一不也就都和与及或而且但因为所以如若果把被让给从到对向跟比吗呢吧啊呀嘛么什怎"
    "哪谁几很太最更还又再才只要会能可应该需想请帮下上来去过着没有之其此每各些等于由并则即便已将曾正得地里内外"
    "中前后时说做用看好点多少大小の은는이가を에がに을로"
)
"""Characters that mostly bind others: a pair of two of them is left out, a pair with one counts little."""

COMMON_PAIRS: Final = frozenset(
    "我们 你们 他们 自己 大家 什么 怎么 为什 这个 那个 哪个 哪些 这些 那些 这里 那里 现在 以前 以后 之前"
    " 之后 今天 明天 昨天 昨晚 今年 去年 明年 上午 下午 晚上 早上 中午 周一 周二 周三 周四 周五 周六 周日"
    " 周末 星期 下周 上周 本周 月底 年底 小时 分钟 时间 时候 日期 开始 结束 继续 完成 需要 可以 应该 必须"
    " 可能 能够 希望 觉得 认为 知道 记得 看看 看下 一下 一个 一些 一点 一起 一样 问题 事情 东西 地方 方面"
    " 情况 原因 结果 工作 公司 客户 同事 老板 朋友 孩子 家人 爸爸 妈妈 学习 学校 学生 老师 生活 帮我 帮忙"
    " 请问 谢谢 你好 麻烦 写一 一份 一封 邮件 消息 电话 文件 文档 内容 文字 英文 中文 翻译 标题 页面 图片"
    " 数据 信息 系统 软件 程序 电脑 手机 网站 链接 安排 处理 准备 计划 方案 整理 总结 修改 检查 确认 更新"
    " 发送 回复 联系 讨论 会议 开会 报告 合同 项目 产品 价格 费用 预算 数量 左右 以内 以上 以下 超过 不能"
    " 不会 不是 不要 没有 还是 或者 但是 因为 所以 如果 就是 只是 已经 正在 比较 非常 特别 一定 最后 最近"
    " 首先 然后 其他 另外 全部 部分 所有 第一 第二 第三 两个 三个 几个 多少 正式 简单 容易 重要 主要 不同"
    " 相关 具体 直接 接下 下来 出来 起来 过来 到底 建议 意见 选择 决定 使用 提供 提前 附近 旁边 里面 上面"
    " 下面 前面 后面".split()
)
"""As COMMON_WORDS."""
